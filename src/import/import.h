#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/telemetry/options.h"
#include "import/trace/traces.h"
#include "run/device_log.h"

namespace ergometer::importer {

struct Telemetry {
  run::DeviceLog log;
  bool any = false;  ///< at least one file was telemetry
  /// What names tell of the job, in the contract's form; empty where they do not.
  std::string job_json;
};

/// What tools recorded of a job.
struct Recorded {
  Traces traces;
  Telemetry telemetry;
};

/// Reads whatever stands at `paths`: traces, graphs and series of power, temperature, clocks and
/// counters, packed by gzip, zstd or not at all; tar archives of them, and folders (searched to the
/// bottom) of all these; Runs and exports of Nsight Systems. What a file is, its content says, not
/// its name: import/formats.h lists the kinds. Files are read on `threads` threads; the result does
/// not depend on them.
///
/// In a folder or an archive a file of another kind is passed over and counted, as is a broken one;
/// a path given by itself must hold a trace or telemetry. Where only telemetry is found, what is
/// dropped of other files of known kinds is the log's. What a Run's traces left out is kept. A
/// trace that does not say its rank gets the lowest that no other has. Times of telemetry are whole
/// nanoseconds since 1970; a time without zone counts as UTC.
///
/// Input errors: a broken file (file, line, column, found, allowed); a path that holds nothing of
/// this or cannot be read.
Result<Recorded> read_recorded(const std::vector<std::string>& paths,
                               const TelemetryOptions& options, size_t threads);

/// The telemetry alone; there need not be any.
Result<Telemetry> read_telemetry(const std::vector<std::string>& paths,
                                 const TelemetryOptions& options);

}  // namespace ergometer::importer
