#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/amd/sensors.h"
#include "record/call_costs.h"

namespace ergometer::record::amd {

/// ROCm's older management library (ROCm SMI): its GPUs. An error of kind kMissing: the library is
/// not there or does not start.
Result<std::vector<Gpu>> open_rocm_smi(const std::vector<std::string>& names, CallCosts& costs);

}  // namespace ergometer::record::amd
