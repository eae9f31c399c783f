#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/amd/sensors.h"
#include "record/call_costs.h"

namespace ergometer::record::amd {

/// AMD's system management library (AMD SMI), ROCm 6.3 and later: its GPUs. An error of kind
/// kMissing: the library is not there, does not start, or is older.
Result<std::vector<Gpu>> open_amd_smi(const std::vector<std::string>& names, CallCosts& costs);

}  // namespace ergometer::record::amd
