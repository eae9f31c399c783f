#pragma once

#include <functional>
#include <string>

#include "analysis/telemetry/telemetry.h"
#include "base/json_writer.h"
#include "report/summary/summary_text.h"
#include "run/device_log.h"

namespace ergometer::report {

/// The members `power` and `thermal` under the contract's names, as far as telemetry knows them,
/// and `telemetry` with each GPU, node and training log, and what was dropped.
void write_telemetry(base::JsonWriter& json, const run::DeviceLog& log,
                     const analysis::TelemetryReport& report);
/// The members `power` and `thermal` alone.
void write_power_summary(base::JsonWriter& json, const analysis::TelemetryReport& report);
/// `telemetry` alone, beside a Run's own `power` and `thermal`.
void write_readings(base::JsonWriter& json, const run::DeviceLog& log,
                    const analysis::TelemetryReport& report);
/// The whole document where there is telemetry alone. `more` writes further members.
std::string telemetry_json(const run::DeviceLog& log, const analysis::TelemetryReport& report,
                           const std::function<void(base::JsonWriter&)>& more = {});
/// The same for people.
std::string telemetry_text(const run::DeviceLog& log, const analysis::TelemetryReport& report,
                           const TextStyle& style);

}  // namespace ergometer::report
