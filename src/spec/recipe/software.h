#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// A generation of a training framework: what it costs on the host and relative to the kernels of
/// the catalog, and the settings it stands for. A file of catalog/software.
struct SoftwareProfile {
  Software software;
  Framework framework = Framework::kMegatron;  ///< as the setting of that name
  std::string recipe;  ///< whose defaults go with it where the profile alone is named: "nemo 25.09"
  Settings settings;   ///< defaults, below what the user and the recipe say
};

/// A catalog name, a YAML file in the form of catalog/software, or such a mapping inline.
Result<SoftwareProfile> read_software(const std::string& name_or_path);
Result<SoftwareProfile> parse_software(std::string_view yaml, const std::string& file);

}  // namespace ergometer::spec
