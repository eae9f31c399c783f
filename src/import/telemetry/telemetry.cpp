#include "import/telemetry/telemetry.h"

#include "base/file.h"
#include "import/formats.h"
#include "import/telemetry/readers.h"

namespace ergometer::importer {

Result<run::DeviceLog> parse_telemetry(std::string_view text, const std::string& file,
                                       const TelemetryOptions& options) {
  const Format* const format = format_of(text);
  const auto* const read = format == nullptr ? nullptr : std::get_if<ReadLog>(&format->read);
  if (read == nullptr) return input_error("{}: is no telemetry of a kind that is known", file);
  LogBuilder log(options);
  log.begin_file(file);
  ERGOMETER_TRY((*read)(without_mark(text), log));
  return log.finish();
}

Result<run::DeviceLog> read_training_log(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 31;
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kMostBytes));
  LogBuilder log;
  log.begin_file(path);
  ERGOMETER_TRY(read_step_log(text, log));
  return log.finish();
}

}  // namespace ergometer::importer
