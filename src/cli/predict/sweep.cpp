#include "cli/predict/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/output_file.h"
#include "cli/console/crew.h"
#include "cli/console/progress.h"
#include "cli/console/stop_at_signal.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/job/script_run.h"
#include "cli/job/user_files.h"
#include "study/output/output.h"
#include "study/output/pick_columns.h"

namespace ergometer::cli {
namespace {

Result<study::SessionOptions> session_options(const Arguments& arguments,
                                              const spread::Crew& crew) {
  study::SessionOptions options;
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments, crew.processes_here()));
  ERGOMETER_ASSIGN(options.shard, shard_of(arguments));
  options.out = arguments.value("out");
  if (arguments.has("shard") && options.out.empty())
    return input_error(
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
  return StopAtSignal::status();
}

Result<study::SessionResult> run_session(const study::Definition& definition,
                                         const study::Expansion& expansion,
                                         study::SessionOptions options, spread::Crew& crew,
                                         const Console& console) {
  std::optional<Progress> progress;
  options.begin = [&](size_t missing, size_t finished) {
    if (finished > 0)
      console.note("{} of {} points were finished before; {} to go", finished, missing + finished,
                   missing);
    progress.emplace(console, "predict", missing);
  };
  options.advance = [&] { progress->advance(); };
  const StopAtSignal stop(console.hosted);
  return study::run_study(definition, expansion, options, crew);
}

/// What the study's base or any of its points says: notes are told of what none does.
spec::Settings said_anywhere(const study::Definition& definition) {
  spec::Settings all = definition.base.settings;
  for (const study::PointSet& set : definition.sets) {
    all.merge(set.base.settings);
    for (const study::Axis& axis : set.axes)
      for (const study::AxisValue& value : axis.values) all.merge(value.change.settings);
  }
  return all;
}

/// Files behind the study say what its own base does not.
Result<void> add_base(const Arguments& arguments, const Console& console,
                      study::Definition& definition) {
  if (arguments.words.size() == 1) return {};
  ERGOMETER_ASSIGN(const intake::ScriptContext context, script_context(arguments));
  UserFiles files(console, context);
  ERGOMETER_TRY(files.add(std::vector(arguments.words.begin() + 1, arguments.words.end())));
  definition.base.settings = files.settings_so_far(definition.base.settings);
  const spec::Settings all = said_anywhere(definition);
  // Rows of a matrix say how many GPUs there are, and more.
  for (const auto& [setting, why] : files.open(all))
    if (setting != "gpus") return input_error(why);
  if (definition.rows.empty()) files.tell(all);
  return {};
}

/// What is asked for of the output.
struct Output {
  bool json = false;
  bool csv_instead = false;             ///< of the table, on standard output
  std::optional<base::OutputFile> csv;  ///< opened before anything runs, so that it can be written
  std::vector<run::StudyColumn> columns;  ///< empty: nobody chose
};

Result<void> check_output(const Arguments& arguments) {
  const bool json = arguments.has("json"), chosen = arguments.has("columns");
  const std::string csv = arguments.value("csv");
  if (arguments.has("csv") && csv.empty())
    return input_error("sweep: --csv: found no name; allowed: a file, or - for standard output");
  if (chosen && arguments.value("columns").empty())
    return input_error(
        "sweep: --columns: found nothing; allowed: names of columns, as in "
        "--columns id,thermal.max_gpu_c");
  if (arguments.has("list") && (arguments.has("csv") || chosen))
    return input_error(
        "sweep: --list runs nothing, so that there are no numbers for --{}; leave one of them out",
        chosen ? "columns" : "csv");
  if (json && csv == "-")
    return input_error("sweep: --json and --csv - both want standard output; give --csv a file");
  if (json && chosen && csv.empty())
    return input_error(
        "sweep: --columns chooses columns of the table and of --csv; --json holds everything");
  return {};
}

Result<Output> output_of(const Arguments& arguments, const study::Expansion& expansion,
                         bool leads) {
  ERGOMETER_TRY(check_output(arguments));
  Output output;
  output.json = arguments.has("json");
  output.csv_instead = arguments.value("csv") == "-";
  run::Study known;
  known.axes = expansion.axes;
  if (arguments.has("columns")) {
    ERGOMETER_ASSIGN(output.columns, study::pick_columns(arguments.value("columns"), known));
  }
  if (leads && arguments.has("csv") && !output.csv_instead) {
    ERGOMETER_ASSIGN(base::OutputFile file, base::OutputFile::open(arguments.value("csv")));
    output.csv.emplace(std::move(file));
  }
  return output;
}

/// Numbers that depend on the job are taken on trust until all is played.
void note_empty_columns(const run::Study& study, const std::vector<run::StudyColumn>& columns,
                        const Console& console) {
  for (const run::StudyColumn& column : columns) {
    const auto has = [&](const run::StudyPoint& point) {
      return point.values.count(column.key) > 0;
    };
    if (column.kind == run::StudyColumn::Kind::kValue && std::ranges::none_of(study.points, has))
      console.note("--columns: no row has {}", column.name);
  }
}

/// A study of which nothing can run answers no question. Of a shard the others may have what runs.
Result<int> verdict_on(const run::Study& study, bool is_shard) {
  const std::string refused = is_shard ? "" : study::all_refused_text(study);
  if (refused.empty()) return 0;
  return tl::unexpected(base::Error{base::ErrorKind::kNo, refused});
}

Result<int> answer(const study::Definition& definition, const study::SessionResult& result,
                   Output& output, const Arguments& arguments, const Console& console) {
  const run::Study& study = *result.run.study;
  note_empty_columns(study, output.columns, console);
  if (output.csv || output.csv_instead) {
    const std::string csv = study::points_csv(
        study, output.columns.empty() ? run::study_columns(study) : output.columns);
    if (output.csv_instead) console.answer(csv);
    if (output.csv) output.csv->write(csv);
  }
  if (output.csv) {
    ERGOMETER_TRY(output.csv->commit());
    console.note("CSV written to {}", arguments.value("csv"));
  }
  if (output.json) console.answer(study::points_json(result));
  if (!output.json && !output.csv_instead)
    console.answer(
        study::points_text(definition, result, output.columns, terminal_style(console.out)));
  return verdict_on(study, arguments.has("shard"));
}

Result<int> sweep(const Arguments& arguments, spread::Crew& crew, const Console& console) {
  ERGOMETER_ASSIGN(const study::SessionOptions options, session_options(arguments, crew));
  ERGOMETER_ASSIGN(study::Definition definition, study::read_definition(arguments.words.front()));
  ERGOMETER_TRY(add_base(arguments, console, definition));
  ERGOMETER_ASSIGN(const study::Expansion expansion, study::expand(definition));
  ERGOMETER_ASSIGN(Output output, output_of(arguments, expansion, crew.leads()));
  if (arguments.has("list")) {
    if (!crew.leads()) return 0;
    console.answer(output.json
                       ? study::list_json(expansion)
                       : study::list_text(definition, expansion, terminal_style(console.out)));
    return 0;
  }
  ERGOMETER_ASSIGN(const study::SessionResult result,
                   run_session(definition, expansion, options, crew, console));
  if (!crew.leads()) return 0;
  if (result.stopped) return tell_stopped(result, options.out, console);
  if (expansion.left_out > 0)
    console.note("{} points are left out by constraints", expansion.left_out);
  if (!options.out.empty()) console.note("Run written to {}", options.out);
  return answer(definition, result, output, arguments, console);
}

}  // namespace

std::vector<Flag> sweep_flags() {
  std::vector<Flag> flags = {
      threads_flag(),
      option("out", "FILE", "output",
             "the Run file to write; what is finished is kept beside it as it goes")
          .shortened("o"),
      shard_flag(),
      option("csv", "FILE", "output", "every row as CSV; -: on standard output"),
      option("columns", "LIST", "output",
             "the columns of the table and of --csv: id,tp,thermal.max_gpu_c; all are in "
             "docs/json.md"),
      option("list", "", "output", "show the points, run nothing")};
  add_script_flags(flags);
  return flags;
}

Result<int> run_sweep(const Arguments& arguments, const Console& console) {
  return with_crew(arguments, console, [&](spread::Crew& crew, const Console& ours) {
    return sweep(arguments, crew, ours);
  });
}

}  // namespace ergometer::cli
