#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `calibrate --from`: a cluster's numbers from a recording of a job on it. Status 0.
Result<int> run_calibrate_twin(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
