#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/plan.h"

namespace ergometer::launch {

/// What became of a folder that was to be written.
struct Written {
  bool existed = false;             ///< with just these files
  std::vector<std::string> edited;  ///< of settings.sh and hosts.txt: left as the user has them
};

/// Writes a plan's folder: manifest, scripts, and of every run its job, its prediction and what
/// starts it. It appears whole or not at all. The same plan gives the same bytes; a folder that is
/// there with other files in place of these is refused and left alone. What runs left in it counts
/// for nothing here.
Result<Written> write_folder(const Plan& plan, const std::string& path);

}  // namespace ergometer::launch
