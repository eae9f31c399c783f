#pragma once

#include <cstdint>

#include "base/json_writer.h"
#include "run/run.h"

namespace ergometer::report {

/// Whether `cluster_power.watts` is written, or stands elsewhere in the document.
enum class PowerOverTime : uint8_t { kWrite, kLeaveOut };

/// The members `power`, `thermal` and `cluster_power` of the summary document; none of them where
/// the Run knows nothing of power. The samples of `cluster_power.watts` are left out when there are
/// more than 4096: the Run file has them.
void write_power(base::JsonWriter& json, const run::Run& run, PowerOverTime power);
}  // namespace ergometer::report
