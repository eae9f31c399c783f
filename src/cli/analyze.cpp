#include "cli/analyze.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal.h"
#include "cli/threads.h"
#include "import/import.h"
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
      files_at_a_time(),
  };
}

base::Result<int> run_analyze(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(importer::Traces traces, importer::read_traces(arguments.words, threads));
  note_truncated(traces.ranks, console);
  ERGOMETER_TRY(select_steps(arguments, traces.ranks));
  const analysis::TraceSummary summary = analysis::summarize(traces.ranks);
  console.answer(arguments.has("json")
                     ? report::trace_json(summary, traces.dropped)
                     : report::trace_text(summary, traces.dropped, terminal_style(console.out)));
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
  ERGOMETER_ASSIGN(importer::Traces traces, importer::read_traces(arguments.words, threads));
  note_truncated(traces.ranks, console);
  const run::Run run = analysis::make_run(std::move(traces.ranks), std::move(traces.dropped));
  ERGOMETER_TRY(run::write_run(run, arguments.value("out")));
  console.answer(arguments.has("json") ? report::import_json(run, arguments.value("out"))
                                       : report::import_text(run, arguments.value("out")));
  return 0;
}

}  // namespace ergometer::cli
