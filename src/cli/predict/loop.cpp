#include "cli/predict/loop.h"

#include "base/file.h"
#include "cli/console/terminal.h"
#include "report/decision/loop_output.h"
#include "spec/catalog/read.h"

namespace ergometer::cli {

std::vector<Flag> loop_flags() { return {}; }

Result<int> run_loop(const Arguments& arguments, const Console& console) {
  const std::string& path = arguments.words.front();
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  ERGOMETER_ASSIGN(const campaign::LoopProgram program, campaign::parse_loop(text, path));
  ERGOMETER_ASSIGN(const campaign::Loop loop, campaign::play_loop(program));
  console.answer(arguments.has("json") ? report::loop_json(loop)
                                       : report::loop_text(loop, terminal_style(console.out)));
  return loop.fits() ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
