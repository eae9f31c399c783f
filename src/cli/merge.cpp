#include "cli/merge.h"

#include "analysis/merge_runs.h"
#include "cli/analyze.h"
#include "cli/terminal.h"
#include "report/merge_report.h"
#include "run/run.h"

namespace ergometer::cli {
namespace {

base::Result<analysis::RunPart> read_part(const std::string& path, const Arguments& arguments,
                                          const Console& console) {
  if (run::is_run_file(path)) {
    ERGOMETER_ASSIGN(run::Run run, run::read_run(path));
    return analysis::RunPart{path, std::move(run)};
  }
  ERGOMETER_ASSIGN(run::Run run, read_recorded({path}, arguments, console));
  return analysis::RunPart{path, std::move(run)};
}

}  // namespace

std::vector<Flag> merge_flags() {
  using Takes = Flag::Takes;
  return {{"out", "o", Takes::kValue, "FILE", "output", "the Run file to write", {}},
          {"reference",
           "",
           Takes::kValue,
           "HOST",
           "clocks",
           "the host whose clock counts; by default the first node's",
           {}}};
}

base::Result<int> run_merge(const Arguments& arguments, const Console& console) {
  const std::string out = arguments.value("out");
  if (out.empty())
    return base::input_error(
        "merge: --out FILE is missing; usage: ergometer merge FILE... --out FILE");
  std::vector<analysis::RunPart> parts;
  for (const std::string& path : arguments.words) {
    ERGOMETER_ASSIGN(analysis::RunPart part, read_part(path, arguments, console));
    parts.push_back(std::move(part));
  }
  ERGOMETER_ASSIGN(const analysis::MergedRun merged,
                   analysis::merge_runs(std::move(parts), arguments.value("reference")));
  ERGOMETER_TRY(run::write_run(merged.run, out));
  console.answer(arguments.has("json")
                     ? report::merge_json(merged, out)
                     : report::merge_text(merged, out, terminal_style(console.out)));
  return 0;
}

}  // namespace ergometer::cli
