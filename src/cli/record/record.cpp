#include "cli/record/record.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "cli/console/terminal.h"
#include "cli/job/predicted_job.h"
#include "cli/record/record_options.h"
#include "cli/record/record_overhead.h"
#include "cli/record/record_report.h"
#include "cli/record/record_session.h"
#include "record/host.h"

namespace ergometer::cli {
namespace {

/// The summary goes where it is in nobody's way: a command has standard output to itself.
Result<void> show(const Session& session, const RecordOptions& options, const Console& console) {
  const bool own_output = options.command.empty();
  if (!own_output && console.quiet) return {};
  ERGOMETER_ASSIGN(const Recorded recorded, read_back(session));
  if (options.json) {
    console.answer(recording_json(session, recorded));
  } else {
    std::FILE* stream = own_output ? console.out : console.err;
    say(stream, recording_text(session, recorded, terminal_style(stream)));
  }
  return {};
}

/// Whether it was shown; else why not was said. A command's exit status is passed on, whatever
/// becomes of the summary.
bool show_or_say(const Session& session, const RecordOptions& options, const Console& console) {
  try {
    const auto shown = show(session, options, console);
    if (!shown) say(console.err, fmt::format("ergometer: {}\n", shown.error().message));
    return shown.has_value();
  } catch (const std::bad_alloc&) {
    say(console.err, "ergometer: out of memory\n");
    return false;
  }
}

Result<int> record_to_file(const RecordOptions& options, const record::Signals& signals,
                           const Console& console) {
  std::string file = options.out;
  if (file.empty())
    file = record::claim_file_name(
        record::default_file_name(options.host, record::now_ns(), record::environment_variable));
  const auto session = record_session(options, file, signals, console);
  if (!session) {
    // It did not begin, and nobody knows the name.
    if (options.out.empty()) std::remove(file.c_str());
    return tl::unexpected(session.error());
  }
  const bool shown = show_or_say(*session, options, console);
  if (session->command) {
    std::fflush(nullptr);
    return session->command->signal != 0 ? record::die_by(session->command->signal)
                                         : session->command->code;
  }
  return shown && session->report.problem.empty() ? 0 : static_cast<int>(base::ErrorKind::kMissing);
}

}  // namespace

Result<int> run_record(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(RecordOptions options, read_record_options(arguments));
  if (!options.command.empty()) {
    if (const auto none = record::check_command(options.command.front())) {
      say(console.err, fmt::format("ergometer: {}\n", none->message));
      return none->status;
    }
  }
  if (arguments.has("predict")) {
    ERGOMETER_ASSIGN(options.prediction, predict_job(arguments.value("predict"), console));
    options.push.prediction = run::prediction_json(*options.prediction);
  }
  if (arguments.has("rules")) {
    ERGOMETER_ASSIGN(options.rules, watch::RuleFile::open(arguments.value("rules")));
  }
  const record::Signals signals(!options.command.empty());
  return options.self_test ? run_self_test(options, signals, console)
                           : record_to_file(options, signals, console);
}

}  // namespace ergometer::cli
