#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "import/telemetry/options.h"
#include "run/device_log.h"

namespace ergometer::importer {

/// The telemetry of one text; an input error where it is none (import/formats.h).
Result<run::DeviceLog> parse_telemetry(std::string_view text, const std::string& file,
                                       const TelemetryOptions& options);

/// What a training program printed, for who knows that it is that: other lines, whatever they look
/// like, are passed over. An input error: a file that cannot be read.
Result<run::DeviceLog> read_training_log(const std::string& path);

}  // namespace ergometer::importer
