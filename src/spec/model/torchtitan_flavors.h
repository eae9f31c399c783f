#pragma once

#include <span>
#include <string_view>

namespace ergometer::spec {

/// torchtitan names a model by its folder and a flavor of it. Llama 3 and 3.1, which differ in the
/// positions they were trained for, are one flavor there.
struct TorchtitanFlavor {
  std::string_view model;  ///< of the catalog
  std::string_view folder, flavor;
};

/// Each model once; of two that share a flavor, the first is meant where nothing else tells.
std::span<const TorchtitanFlavor> torchtitan_flavors();

}  // namespace ergometer::spec
