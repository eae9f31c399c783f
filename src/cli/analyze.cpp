#include "cli/analyze.h"

#include "cli/threads.h"
#include "import/import.h"
#include "report/trace_json.h"

namespace ergometer::cli {

std::vector<Flag> analyze_flags() { return {threads_flag()}; }

base::Result<int> run_analyze(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const importer::Traces traces, importer::read_traces(arguments.words, threads));
  std::vector<analysis::RankBreakdown> ranks;
  for (const run::RankTrace& trace : traces.ranks) ranks.push_back(analysis::break_down(trace));
  console.answer(report::trace_json(ranks, traces.dropped));
  return 0;
}

}  // namespace ergometer::cli
