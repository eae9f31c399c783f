#pragma once

#include <optional>
#include <string>

#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What telemetry says of a rank's GPU beside the median of all other GPUs, means over a time.
struct GpuCondition {
  std::optional<double> sm_clock_mhz, others_clock_mhz;
  std::optional<double> gpu_c, others_gpu_c;
  std::optional<double> throttled_fraction;
  std::string reason;  ///< that held longest (analysis/telemetry/throttling.h); empty: none did
};
/// Nothing when the log has no GPU of that rank with readings at that time.
std::optional<GpuCondition> gpu_condition(const run::DeviceLog& log, int64_t rank, int64_t from_ns,
                                          int64_t to_ns);
/// From the first to the last event of a trace.
std::optional<GpuCondition> gpu_condition(const run::DeviceLog& log, const run::RankTrace& trace);

/// The log's GPU of a rank; null when there is none.
const run::Device* gpu_of_rank(const run::DeviceLog& log, int64_t rank);

}  // namespace ergometer::analysis
