#pragma once

#include <string>

#include "analysis/telemetry/telemetry.h"
#include "base/json_writer.h"
#include "cli/record/record_session.h"
#include "report/summary/summary_text.h"
#include "run/device_log.h"

namespace ergometer::cli {

/// What was recorded, read back from the file; not for a recording so long that reading it would
/// keep the user waiting.
struct Recorded {
  run::DeviceLog log;
  analysis::TelemetryReport report;
  bool left_out = false;
};
Result<Recorded> read_back(const Session& session);

/// The summary of a recording, for people and as a document of its own.
std::string recording_text(const Session& session, const Recorded& recorded,
                           const report::TextStyle& style);
std::string recording_json(const Session& session, const Recorded& recorded);

/// The member `recording`: how it went, and every call to a driver.
void write_session(base::JsonWriter& json, const Session& session);

/// "8 GPUs, 1 node, 2 CPUs"
std::string device_counts(const std::vector<run::Device>& devices);

}  // namespace ergometer::cli
