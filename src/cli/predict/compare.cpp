#include "cli/predict/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/console/option_values.h"
#include "cli/console/progress.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/job/script_run.h"
#include "cli/job/settled_job.h"
#include "cli/job/user_files.h"
#include "compare/counterfactual.h"
#include "compare/measured.h"
#include "import/import.h"
#include "intake/read_user_file.h"
#include "report/decision/comparison_json.h"
#include "report/decision/comparison_text.h"
#include "run/run.h"
#include "spec/files/settings_record.h"
#include "spec/settings/assumed_software.h"

namespace ergometer::cli {
namespace {

constexpr int64_t kMostSimulations = 1024;

/// One thing that is compared: a job to be simulated, or paths of what was recorded.
struct Side {
  std::string name;
  std::optional<spec::Settings> job;
  double written_step_s = 0;  ///< of a Run file: what it says; 0: no Run file
};

Result<Side> job_side(std::string name, const spec::Settings& settings) {
  ERGOMETER_ASSIGN(spec::Settings whole, settled_job(settings));
  return Side{std::move(name), std::move(whole), 0};
}

/// A simulated Run's own job.
Result<Side> run_side(const std::string& path, const run::Run& run) {
  if (run.study)
    return input_error(
        "{}: holds a study of {} jobs, not one job; `ergometer report` makes its page", path,
        run.study->points.size());
  const auto settings = run.facts.find("settings");
  if (settings == run.facts.end())
    return input_error(
        "{}: does not say which settings its job had (an older Ergometer wrote it); "
        "simulate the job again with --run, or compare job files",
        path);
  ERGOMETER_ASSIGN(spec::Settings job, spec::parse_settings_json(settings->second, path));
  return Side{path, std::move(job), run.performance.step_time_s};
}

/// What is the same for all jobs of files that do not say it.
spec::Settings options_of(const Arguments& arguments) {
  spec::Settings options;
  for (const char* name : {"model", "cluster", "gpus"})
    if (arguments.has(name))
      options.set(name, arguments.value(name), {arguments.written.at(name), ""});
  return options;
}

Result<Side> side_of(const std::string& word, const Arguments& arguments, const Console& console) {
  const bool yaml = word.ends_with(".yaml") || word.ends_with(".yml");
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(word));
  if (yaml || (!is_run && intake::is_user_file(word))) {
    ERGOMETER_ASSIGN(const intake::ScriptContext context, script_context(arguments));
    UserFiles files(console, context);
    ERGOMETER_TRY(files.add(word));
    ERGOMETER_ASSIGN(const spec::Settings settings, files.settings(options_of(arguments)));
    return job_side(word, settings);
  }
  std::error_code error;
  if (!std::filesystem::exists(word, error))
    return input_error(
        "{}: there is no such file; compare takes Run files (as ergometer simulate ... --run FILE "
        "writes them), job files (*.yaml) and recorded traces",
        word);
  if (!is_run) return Side{word, std::nullopt, 0};
  ERGOMETER_ASSIGN(const bool has_traces, run::has_traces(word));
  if (!has_traces) {
    ERGOMETER_ASSIGN(const run::Run run, run::read_run(word));
    if (run.source == "simulated") return run_side(word, run);
  }
  return Side{word, std::nullopt, 0};
}

tl::unexpected<base::Error> unknown_setting(const std::string& piece) {
  return input_error(
      "--with: found '{}', allowed: SETTING=VALUE as in a job file, several with commas{}", piece,
      base::did_you_mean(spec::nearest_setting(piece.substr(0, piece.find('=')))));
}

/// "tp=8,pp=2": a piece that begins with no setting belongs to the value before it.
Result<spec::Settings> read_with(const std::string& text) {
  spec::Settings settings;
  std::string name;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string piece = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = piece.find('=');
    const spec::SettingInfo* info =
        equals == std::string::npos ? nullptr : spec::find_setting(piece.substr(0, equals));
    // "run_phases=steps=100,eval-every=10": of a value that has such pieces.
    const bool goes_on = !name.empty() && (equals == std::string::npos ||
                                           base::contains(settings.find(name)->text, "="));
    if (info == nullptr && !goes_on) return unknown_setting(piece);
    if (info != nullptr) name = info->name;
    const std::string value =
        info != nullptr ? piece.substr(equals + 1) : settings.find(name)->text + ',' + piece;
    settings.set(name, value, {"option --with", info != nullptr ? piece.substr(0, equals) : name});
  }
  return settings;
}

Result<Side> changed(const Side& side, const std::string& with) {
  if (!side.job)
    return input_error("--with: {} was recorded; only a job that can be simulated can be changed",
                       side.name);
  ERGOMETER_ASSIGN(const spec::Settings over, read_with(with));
  spec::Settings settings = *side.job;
  settings.merge(over);
  ERGOMETER_TRY(spec::keep_assumed_software(*side.job, settings));
  return job_side(fmt::format("{} with {}", side.name, with), settings);
}

Result<std::vector<Side>> sides_of(const Arguments& arguments, const Console& console) {
  std::vector<Side> sides;
  for (const std::string& word : arguments.words) {
    ERGOMETER_ASSIGN(Side side, side_of(word, arguments, console));
    sides.push_back(std::move(side));
  }
  if (arguments.has("with")) {
    if (sides.size() > 1)
      return input_error("--with makes B of A, and B is {} already; leave one of them out",
                         sides[1].name);
    ERGOMETER_ASSIGN(Side side, changed(sides.front(), arguments.value("with")));
    sides.push_back(std::move(side));
  }
  if (arguments.has("predicted")) {
    const std::string job = arguments.value("predicted");
    ERGOMETER_ASSIGN(Side side, side_of(job, arguments, console));
    if (!side.job)
      return input_error("{}: was recorded; what is predicted is a job file's or a simulated Run's",
                         job);
    side.name += " (predicted)";
    sides.push_back(std::move(side));
  }
  if (sides.size() < 2)
    return input_error(
        "compare: there is nothing to compare with; usage: ergometer compare A B..., or compare A "
        "--with tp=8,pp=2");
  for (const Side& side : sides)
    if (side.job) tell_job(*side.job, side.name, console);
  return sides;
}

Result<compare::Measured> measure_recorded(const Side& side, size_t threads) {
  ERGOMETER_ASSIGN(const importer::Recorded recorded,
                   importer::read_recorded({side.name}, {}, threads));
  return compare::measure(recorded.traces.ranks, recorded.telemetry.log, side.name);
}

Result<compare::Measured> measure_predicted(const Side& side, bool beside_recording) {
  ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(*side.job));
  return beside_recording ? compare::measure_as_recorded(job) : compare::measure(job);
}

Result<compare::Comparison> compare_parts(const Side& a, const Side& b, size_t threads) {
  const auto measured = [&](const Side& side) {
    return side.job ? measure_predicted(side, !a.job || !b.job) : measure_recorded(side, threads);
  };
  ERGOMETER_ASSIGN(const compare::Measured left, measured(a));
  ERGOMETER_ASSIGN(const compare::Measured right, measured(b));
  return compare::compare_measured(left, right);
}

Result<compare::Comparison> compare_sides(const Side& a, const Side& b, const Arguments& arguments,
                                          int64_t most, const Console& console) {
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  if (!a.job || !b.job || arguments.has("parts")) return compare_parts(a, b, threads);
  ERGOMETER_ASSIGN(const compare::JobPair pair, compare::JobPair::make(*a.job, *b.job));
  std::optional<Progress> progress;
  const auto advance = [&](int64_t done, int64_t total) {
    if (done == 1) progress.emplace(console, "simulate", static_cast<size_t>(total));
    progress->advance();
  };
  return compare::compare_jobs(pair,
                               {.threads = threads, .most_simulations = most, .progress = advance});
}

/// A Run file of another version of the program or its catalog does not say what is said here.
void note_drift(const Side& side, double step_s, compare::Comparison& comparison) {
  constexpr double kSame = 1e-6;
  if (side.written_step_s <= 0 || std::abs(step_s / side.written_step_s - 1) <= kSame) return;
  comparison.notes.push_back(fmt::format(
      "{} says {}, its job simulated again {}: another version of the program or its catalog wrote "
      "it",
      side.name, base::format_seconds(side.written_step_s), base::format_seconds(step_s)));
}

}  // namespace

std::vector<Flag> compare_flags() {
  Flag threads = threads_flag();
  threads.help = "simulations at a time; by default one a processor";
  const auto of_job = [](const char* name, const char* value, const char* help) {
    return option(name, value, "input", help);
  };
  std::vector<Flag> flags = {
      of_job("model", "MODEL", "of every job given as a file"),
      of_job("cluster", "CLUSTER", "of every job given as a file"),
      of_job("gpus", "N", "of every job given as a file"),
      option("with", "SETTING=VALUE", "input", "B is A with these settings: tp=8,pp=2").repeated(),
      option("predicted", "JOB", "input",
             "beside a recorded Run: what is predicted of this job file or simulated Run"),
      option("parts", "", "input",
             "two jobs by the parts of their steps, as recorded ones: nothing between them is "
             "simulated"),
      option("max-simulations", "N", "running",
             "most jobs to simulate; more causes than that allows are grouped (default 1024)"),
      threads};
  add_script_flags(flags);
  return flags;
}

Result<int> run_compare(const Arguments& arguments, const Console& console) {
  ERGOMETER_ASSIGN(const int64_t most,
                   whole_number(arguments, "max-simulations", kMostSimulations, 4, 1'048'576));
  ERGOMETER_ASSIGN(const std::vector<Side> sides, sides_of(arguments, console));
  std::vector<compare::Comparison> comparisons;
  for (size_t i = 1; i < sides.size(); ++i) {
    ERGOMETER_ASSIGN(compare::Comparison comparison,
                     compare_sides(sides.front(), sides[i], arguments, most, console));
    comparison.a = sides.front().name;
    comparison.b = sides[i].name;
    note_drift(sides.front(), comparison.quantities.front().a, comparison);
    note_drift(sides[i], comparison.quantities.front().b, comparison);
    comparisons.push_back(std::move(comparison));
  }
  if (arguments.has("json")) {
    console.answer(report::comparison_json(comparisons));
    return 0;
  }
  const report::TextStyle style = terminal_style(console.out);
  for (size_t i = 0; i < comparisons.size(); ++i) {
    if (i > 0) console.answer("\n");
    console.answer(report::comparison_text(comparisons[i], style));
  }
  return 0;
}

}  // namespace ergometer::cli
