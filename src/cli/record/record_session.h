#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/record/record_options.h"
#include "record/child.h"
#include "record/recorder.h"
#include "record/wait.h"

namespace ergometer::cli {

/// One recording, from its first reading to its last.
struct Session {
  std::string file;
  record::RecorderReport report;
  std::vector<record::Sources::Missing> missing;
  std::vector<run::Device> devices;
  double hz = 0;
  double command_s = 0;                       ///< how long the command ran
  std::optional<record::ExitStatus> command;  ///< how it ended
};

/// Records what `options` ask for into `file`. Errors come before the command is started; of kind
/// kMissing where a source that was asked for is not there.
Result<Session> record_session(const RecordOptions& options, const std::string& file,
                               const record::Signals& signals, const Console& console);

/// Runs the command alone, for comparison: how it ended and after how many seconds.
Result<std::pair<record::ExitStatus, double>> run_alone(const RecordOptions& options,
                                                        const record::Signals& signals);

}  // namespace ergometer::cli
