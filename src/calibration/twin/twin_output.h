#pragma once

#include <string>
#include <string_view>

#include "calibration/twin/twin.h"

namespace ergometer::calibration::twin {

/// For people: the recording beside predictions before and after, the factors with their errors,
/// what the recording does not tell and why.
std::string to_text(const Twin& twin);
/// The same, schema "ergometer.twin/1".
std::string to_json(const Twin& twin);

/// A cluster file that extends `extends` (a name of the catalog, or a cluster as one line of YAML)
/// with the fitted numbers in place, each with its source, and `measured`. `from`: the recording's
/// name.
std::string cluster_file(const Twin& twin, std::string_view extends, std::string_view from);

}  // namespace ergometer::calibration::twin
