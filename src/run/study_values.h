#pragma once

#include <map>
#include <string>
#include <string_view>

#include "run/run.h"

namespace ergometer::run {

/// The numbers of a summary document (`simulate --json`) under their names in the Run file's
/// `summary` table: "performance.step_time_s", "memory.fits" (0 or 1). Links stand under their
/// kind, "links.nic.utilization", the parts of what is drawn under theirs,
/// "power.gpu_parts_w.hbm". The job, lists and texts are left out. Empty when it is no JSON.
std::map<std::string, double> study_values(const std::string& summary_json);

/// Whether points of a study may have a number of this name: one of the summary's table, or of a
/// group whose members depend on the job ("links.nic.utilization").
bool is_study_value(std::string_view name);

/// What of a summary document is no single number: the rows of slots and what limits the clocks.
/// The rest of the result is empty.
Thermal summary_thermal(const std::string& summary_json);

}  // namespace ergometer::run
