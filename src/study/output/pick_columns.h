#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/study_columns.h"

namespace ergometer::study {

/// The columns that a list such as "tp,power.mean_w_per_gpu" names, in its order; all of them where
/// it is empty. Numbers of a group whose members depend on the job are taken before any point is
/// known. A name that is no column's, or stands twice, is an input error.
Result<std::vector<run::StudyColumn>> pick_columns(std::string_view list, const run::Study& study);

}  // namespace ergometer::study
