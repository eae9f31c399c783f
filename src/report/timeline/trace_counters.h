#pragma once

#include <functional>
#include <string>

#include "run/run.h"

namespace ergometer::report {

/// Counter tracks of a Chrome trace, an event at a time to `add`: for every rank with telemetry
/// that `is_shown`, its power, temperatures and clock, and each of NVML's event reasons that it
/// ever had (1 while it held); for the cluster, as process `cluster_pid`, the power at the plug. A
/// counter keeps its value until the next event, so readings that repeat are left out.
void add_counters(const run::Run& run, int64_t cluster_pid,
                  const std::function<bool(int64_t)>& is_shown,
                  const std::function<void(const std::string&)>& add);

/// Microseconds with three decimals, from whole nanoseconds and without rounding.
std::string trace_microseconds(int64_t ns);
/// The same behind a text, for those who write millions.
void append_microseconds(int64_t ns, std::string& line);

}  // namespace ergometer::report
