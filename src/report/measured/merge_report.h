#pragma once

#include <string>

#include "analysis/merge_runs.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// How the hosts' clocks were brought together, and what the Run file `path` now holds.
std::string merge_text(const analysis::MergedRun& merged, const std::string& path,
                       const TextStyle& style);
/// The same: `file`, `hosts` (`uncertainty_s` null where nothing bounds the error), `notes`.
std::string merge_json(const analysis::MergedRun& merged, const std::string& path);

}  // namespace ergometer::report
