#include "cli/predict/loop.h"

#include "base/file.h"
#include "cli/console/terminal.h"
#include "report/decision/loop_output.h"
#include "spec/catalog/read.h"

namespace ergometer::cli {

std::vector<Flag> loop_flags() {
  return {
      option("explain", "NAME", "output",
             "where the time of every phase and switch comes from; with a NAME of one alone, or "
             "iteration_s")
          .with_optional_value()};
}

Result<int> run_loop(const Arguments& arguments, const Console& console) {
  const std::string& path = arguments.words.front();
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  ERGOMETER_ASSIGN(const campaign::LoopProgram program, campaign::parse_loop(text, path));
  ERGOMETER_ASSIGN(const campaign::Loop loop, campaign::play_loop(program));
  const report::TextStyle style = terminal_style(console.out);
  const bool explains = arguments.has("explain");
  report::Explanation explanation;
  if (explains) {
    ERGOMETER_ASSIGN(explanation, report::explain_loop(loop, arguments.value("explain")));
  }
  if (arguments.has("json"))
    console.answer(report::loop_json(loop, explains ? report::to_json(explanation) : ""));
  else
    console.answer(explains ? report::to_text(explanation, style) : report::loop_text(loop, style));
  return loop.fits() ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
