#include "cli/analyze.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.h"
#include "cli/threads.h"
#include "import/import.h"
#include "import/telemetry/telemetry.h"
#include "report/telemetry_json.h"
#include "report/trace_json.h"
#include "report/trace_text.h"

namespace ergometer::cli {
namespace {

/// Only the steps that --steps asks for.
base::Result<void> select_steps(const Arguments& arguments, std::vector<run::RankTrace>& ranks) {
  const std::string steps = arguments.value("steps", "all");
  if (steps == "all") return {};
  ERGOMETER_ASSIGN(const analysis::StepRange range, analysis::parse_steps(steps));
  for (run::RankTrace& trace : ranks) {
    ERGOMETER_ASSIGN(run::RankTrace chosen, analysis::select_steps(trace, range));
    trace = std::move(chosen);
  }
  return {};
}

void note_truncated(const std::vector<run::RankTrace>& ranks, const Console& console) {
  for (const run::RankTrace& trace : ranks)
    if (trace.truncated)
      console.note(
          fmt::format("{}: ends in the middle; what it holds up to there is analysed", trace.file));
}

/// A folder may hold both: what was read as telemetry is not lost for being no trace.
void leave_out_telemetry(const std::vector<std::string>& files,
                         std::vector<run::Dropped>& dropped) {
  std::erase_if(dropped, [&](const run::Dropped& d) {
    return std::find(files.begin(), files.end(), d.file) != files.end();
  });
}

/// The traces beside telemetry. A folder that held telemetry need not hold one.
base::Result<importer::Traces> read_rest(importer::Telemetry& telemetry, size_t threads) {
  if (telemetry.any && telemetry.rest.empty()) return importer::Traces{};
  auto traces = importer::read_traces(telemetry.rest, threads);
  if (!traces && telemetry.any && telemetry.rest_may_be_empty) {
    telemetry.log.dropped.push_back(
        {telemetry.rest.front(), "holds other files, none of which is a trace", 1});
    return importer::Traces{};
  }
  if (traces) leave_out_telemetry(telemetry.files, traces->dropped);
  return traces;
}

Flag files_at_a_time() {
  Flag flag = threads_flag();
  flag.help = "files at a time; by default one a processor";
  return flag;
}

}  // namespace

std::vector<Flag> analyze_flags() {
  using Takes = Flag::Takes;
  return {
      {"steps",
       "",
       Takes::kValue,
       "all|N..M",
       "input",
       "only what was launched in these training steps (ProfilerStep#N), both ends among them; by "
       "default whole files",
       {}},
      {"repair",
       "",
       Takes::kNothing,
       "",
       "input",
       "go on counting where CharLLM-PPT's files kept 32 bits of a counter",
       {}},
      files_at_a_time(),
  };
}

base::Result<int> run_analyze(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(importer::Telemetry telemetry,
                   importer::read_telemetry(arguments.words, {arguments.has("repair")}));
  ERGOMETER_ASSIGN(importer::Traces traces, read_rest(telemetry, threads));
  const analysis::TelemetryReport power = analysis::analyze_telemetry(telemetry.log);
  const bool as_json = arguments.has("json");
  const report::TextStyle style = terminal_style(console.out);
  if (telemetry.any && traces.ranks.empty() && traces.graphs.empty()) {
    console.answer(as_json ? report::telemetry_json(telemetry.log, power)
                           : report::telemetry_text(telemetry.log, power, style));
    return 0;
  }
  note_truncated(traces.ranks, console);
  ERGOMETER_TRY(select_steps(arguments, traces.ranks));
  analysis::TraceSummary summary = analysis::summarize(traces.ranks);
  summary.graphs = analysis::summarize_graphs(traces.graphs);
  const auto more = [&](base::JsonWriter& json) {
    if (telemetry.any) report::write_telemetry(json, telemetry.log, power);
  };
  console.answer(as_json ? report::trace_json(summary, traces.dropped, more)
                         : report::trace_text(summary, traces.dropped, style));
  if (!as_json && telemetry.any)
    console.answer('\n' + report::telemetry_text(telemetry.log, power, style));
  return 0;
}

std::vector<Flag> import_flags() {
  using Takes = Flag::Takes;
  return {{"out", "o", Takes::kValue, "FILE", "output", "the Run file to write", {}},
          files_at_a_time()};
}

base::Result<int> run_import(const Arguments& arguments, const Console& console) {
  if (!arguments.has("out"))
    return base::input_error(
        "import: --out FILE is missing; usage: ergometer import FILE... --out FILE");
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(importer::Telemetry telemetry, importer::read_telemetry(arguments.words, {}));
  ERGOMETER_ASSIGN(importer::Traces traces, read_rest(telemetry, threads));
  note_truncated(traces.ranks, console);
  std::move(telemetry.log.dropped.begin(), telemetry.log.dropped.end(),
            std::back_inserter(traces.dropped));
  run::Run run = analysis::make_run(std::move(traces.ranks), std::move(traces.dropped),
                                    std::move(traces.graphs));
  run.telemetry = importer::telemetry_run(telemetry.log).telemetry;
  if (telemetry.any)
    console.note(
        fmt::format("{} rows of telemetry are kept; nodes', windows' and other series "
                    "than power, temperature, clock and event reasons are not",
                    run.telemetry.size()));
  ERGOMETER_TRY(run::write_run(run, arguments.value("out")));
  console.answer(arguments.has("json") ? report::import_json(run, arguments.value("out"))
                                       : report::import_text(run, arguments.value("out")));
  return 0;
}

}  // namespace ergometer::cli
