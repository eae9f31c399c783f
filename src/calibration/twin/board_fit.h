#pragma once

#include <vector>

#include "base/result.h"
#include "calibration/twin/boards.h"
#include "spec/job/job.h"

namespace ergometer::calibration::twin {

/// Fits leakage and resistance of every board and the inlet of every node to means of its power
/// (2.5 %: sensors' gains), die temperature (1 K) and clock (0.5 %), all assumed noises, beside
/// what sampling leaves open of the means (`sampling_error`), by Gauss-Newton over plays of the job
/// with power and heat. Priors are Student's with four degrees of freedom, as most boards are alike
/// and few are faulty; their widths are the kind's own (physics::SiliconSpread), fitted along with
/// four boards' weight of the assumed. What power and clocks of all GPUs are off together is the
/// cluster's, not theirs, and left out: `fit_twin`.
/// `job` says nothing that is told (`without_told`); `inlet_c`: of nodes of which it says none;
/// `inlets_told`: by node; others stay as they are. Input errors: no power data.
Result<Boards> board_fit(const BoardReadings& readings, const spec::Job& job, double inlet_c,
                         const std::vector<bool>& inlets_told);

}  // namespace ergometer::calibration::twin
