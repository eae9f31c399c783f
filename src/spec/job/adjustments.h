#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::spec {

/// How the origin of a setting begins that gave way to what else was said, or that the framework
/// sets where the user left it open; of a setting that was given, it stands behind the origin.
inline constexpr std::string_view kAdjusted = "adjusted: ";

/// Why settings of the job are not what was said or what they are by default, every reason once.
std::vector<std::string> adjustments(const Job& job);

}  // namespace ergometer::spec
