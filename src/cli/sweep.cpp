#include "cli/sweep.h"

#include <fmt/format.h>

#include <optional>

#include "cli/crew.h"
#include "cli/progress.h"
#include "cli/script_run.h"
#include "cli/stop_at_signal.h"
#include "cli/threads.h"
#include "cli/user_files.h"
#include "study/output.h"

namespace ergometer::cli {
namespace {

base::Result<study::SessionOptions> session_options(const Arguments& arguments,
                                                    const spread::Crew& crew) {
  study::SessionOptions options;
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments, crew.processes_here()));
  ERGOMETER_ASSIGN(options.shard, shard_of(arguments));
  options.out = arguments.value("out");
  if (arguments.has("shard") && options.out.empty())
    return base::input_error(
        "sweep: --shard makes a part that `ergometer merge` joins with the others; give it "
        "--out FILE");
  options.stop = [] { return StopAtSignal::asked().load(); };
  return options;
}

int tell_stopped(const study::SessionResult& result, const std::string& out,
                 const Console& console) {
  const size_t all = result.run.study->points.size();
  console.note(out.empty()
                   ? fmt::format("stopped with {} of {} points; nothing is kept without --out",
                                 all - result.left, all)
                   : fmt::format("stopped; {} of {} points are in {}.unfinished, and the same "
                                 "command goes on from there",
                                 all - result.left, all, out));
  return kInterrupted;
}

base::Result<study::SessionResult> run_session(const study::Definition& definition,
                                               const study::Expansion& expansion,
                                               study::SessionOptions options, spread::Crew& crew,
                                               const Console& console) {
  std::optional<Progress> progress;
  options.begin = [&](size_t missing, size_t finished) {
    if (finished > 0)
      console.note(fmt::format("{} of {} points were finished before; {} to go", finished,
                               missing + finished, missing));
    progress.emplace(console, "predict", missing);
  };
  options.advance = [&] { progress->advance(); };
  const StopAtSignal stop;
  return study::run_study(definition, expansion, options, crew);
}

/// Files behind the study say what its own base does not.
base::Result<void> add_base(const Arguments& arguments, const Console& console,
                            study::Definition& definition) {
  if (arguments.words.size() == 1) return {};
  ERGOMETER_ASSIGN(const intake::ScriptContext context, script_context(arguments));
  UserFiles files(console, context);
  for (size_t i = 1; i < arguments.words.size(); ++i) ERGOMETER_TRY(files.add(arguments.words[i]));
  definition.base.settings = files.settings_so_far(definition.base.settings);
  return {};
}

base::Result<int> sweep(const Arguments& arguments, spread::Crew& crew, const Console& console) {
  ERGOMETER_ASSIGN(const study::SessionOptions options, session_options(arguments, crew));
  ERGOMETER_ASSIGN(study::Definition definition, study::read_definition(arguments.words.front()));
  ERGOMETER_TRY(add_base(arguments, console, definition));
  ERGOMETER_ASSIGN(const study::Expansion expansion, study::expand(definition));
  const bool as_json = arguments.has("json");
  if (arguments.has("list")) {
    if (!crew.leads()) return 0;
    console.answer(as_json ? study::list_json(expansion) : study::list_text(definition, expansion));
    return 0;
  }
  ERGOMETER_ASSIGN(const study::SessionResult result,
                   run_session(definition, expansion, options, crew, console));
  if (!crew.leads()) return 0;
  if (result.stopped) return tell_stopped(result, options.out, console);
  if (expansion.left_out > 0)
    console.note(fmt::format("{} points are left out by constraints", expansion.left_out));
  if (!options.out.empty()) console.note(fmt::format("Run written to {}", options.out));
  console.answer(as_json ? study::points_json(result) : study::points_text(definition, result));
  return 0;
}

}  // namespace

std::vector<Flag> sweep_flags() {
  using Takes = Flag::Takes;
  std::vector<Flag> flags = {
      threads_flag(),
      {"out",
       "o",
       Takes::kValue,
       "FILE",
       "output",
       "the Run file to write; what is finished is kept beside it as it goes",
       {}},
      shard_flag(),
      {"list", "", Takes::kNothing, "", "output", "show the points, run nothing", {}}};
  add_script_flags(flags);
  return flags;
}

base::Result<int> run_sweep(const Arguments& arguments, const Console& console) {
  return with_crew(arguments, console, [&](spread::Crew& crew, const Console& ours) {
    return sweep(arguments, crew, ours);
  });
}

}  // namespace ergometer::cli
