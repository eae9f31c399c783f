#include "cli/predict/optimize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/nearest.h"
#include "base/output_file.h"
#include "base/text.h"
#include "calibration/twin/board_overrides.h"
#include "calibration/twin/boards_output.h"
#include "cli/console/option_values.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/job/recorded_job.h"
#include "cli/predict/optimize_watch.h"
#include "optimize/balance.h"
#include "report/decision/optimize_output.h"
#include "spec/job/measure_range.h"

namespace ergometer::cli {
namespace {

using calibration::twin::Boards;
using optimize::Knob;

constexpr int64_t kMostDraws = 256;

Result<double> percent(const Arguments& arguments, const char* name, double fallback) {
  if (!arguments.has(name)) return fallback;
  std::string text = arguments.value(name);
  if (text.ends_with('%')) text.pop_back();
  const auto number = base::parse_number(text);
  if (!number || *number < 0 || *number > 100)
    return input_error("--{}: '{}' is not a percentage from 0 to 100, like {:g}", name,
                       arguments.value(name), fallback);
  return *number;
}

/// `text` may be empty.
Result<double> clock_change(const std::string& text) {
  // Assumed, of the 10 to 100 ms that are (docs/models/optimize.md); what is measured depends on
  // the clock that is asked for (arXiv 2502.20075).
  constexpr double kChangeS = 0.01;
  if (text.empty()) return kChangeS;
  auto seconds = spec::MeasureRange{"s", 0, 60}.read(text);
  if (seconds) return seconds;
  return input_error("--operator-clocks: {}{}", seconds.error().message,
                     " (it takes the word behind it: put JOB before it)");
}

std::optional<optimize::Align> balance_of(const Arguments& arguments) {
  for (const optimize::Align align : optimize::all_aligns())
    if (arguments.value("balance") == to_word(align)) return align;
  return std::nullopt;
}

Result<optimize::Options> optimize_options(const Arguments& arguments, const Console& console) {
  optimize::Options options;
  if (arguments.has("knobs")) {
    ERGOMETER_ASSIGN(options.knobs, optimize_knobs(arguments.value("knobs")));
  }
  // Of a job that runs: what would cost it no time.
  const bool running = arguments.has("from");
  const std::string objective = arguments.value("objective", running ? "energy" : "time");
  for (const optimize::Objective one :
       {optimize::Objective::kTime, optimize::Objective::kEnergy, optimize::Objective::kPeakPower,
        optimize::Objective::kTemperature})
    if (objective == to_word(one)) options.objective = one;
  if (const auto align = balance_of(arguments)) options.objective = optimize::objective_of(*align);
  ERGOMETER_ASSIGN(options.noise_floor_pct,
                   percent(arguments, "noise-floor", options.noise_floor_pct));
  ERGOMETER_ASSIGN(options.most_slowdown_pct,
                   percent(arguments, "max-slowdown",
                           running ? options.noise_floor_pct : options.most_slowdown_pct));
  ERGOMETER_ASSIGN(
      options.judges,
      whole_number(arguments, "draws", static_cast<int64_t>(options.judges), 4, kMostDraws));
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments));
  if (arguments.has("operator-clocks")) {
    ERGOMETER_ASSIGN(options.clock_change_s, clock_change(arguments.value("operator-clocks")));
  }
  if (is_terminal(console.err))
    options.progress = [&console](const std::string& what) { console.note(what); };
  return options;
}

Result<optimize::Optimized> optimized(const spec::Job& job, const optimize::Options& options,
                                      const Arguments& arguments) {
  const auto align = balance_of(arguments);
  return align ? optimize::balance(job, *align, options) : optimize::optimize(job, options);
}

/// What a recording of the job tells of its boards.
Result<Boards> recorded_boards(const Arguments& arguments, const spec::Job& job,
                               const std::vector<std::string>& hosts, size_t threads) {
  ERGOMETER_ASSIGN(const importer::Recorded recorded, read_recorded_job(arguments, job, threads));
  return calibration::twin::fit_boards(recorded.telemetry.log, job, arguments.value("from"), hosts);
}

/// By node; where the recording names none: node0, node1, ...
std::vector<std::string> names_of_nodes(const Boards& boards, const spec::Job& job) {
  std::vector<std::string> names = boards.hosts;
  while (std::ssize(names) < job.nodes()) names.push_back(fmt::format("node{}", names.size()));
  return names;
}

Result<void> write_files(const std::string& folder, const std::vector<optimize::File>& files,
                         const Console& console) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return input_error("--out: {}: cannot make the folder: {}", folder, error.message());
  for (const optimize::File& file : files) {
    const std::string path = (std::filesystem::path(folder) / file.name).string();
    ERGOMETER_TRY(base::write_file_atomically(path, file.text));
    console.note("{}: {}", path, file.what);
  }
  return {};
}

Result<std::vector<std::string>> named_hosts(const Arguments& arguments, const spec::Job& job) {
  std::vector<std::string> hosts = base::split(arguments.value("hosts"), ',');
  if (!hosts.empty() && std::ssize(hosts) != job.nodes())
    return input_error("--hosts names {} nodes; the job has {}", hosts.size(), job.nodes());
  for (const std::string& host : hosts)
    if (std::ranges::count(hosts, host) > 1)
      return input_error("--hosts names {} more than once", host);
  return hosts;
}

struct Plan {
  std::optional<Boards> boards;
  optimize::Optimized result;
  std::vector<std::string> hosts;
  std::vector<optimize::File> files;  ///< for --out
};

/// Why a watched job has a new plan, as a member of the document that is open.
void write_cause(base::JsonWriter& json, const PlanCause& cause) {
  json.key("watch").begin_object().member("plan", cause.number);
  json.member("time_ns", cause.time_ns).member("readings_s", cause.readings_s);
  json.rows("changes", cause.changes, [&](const calibration::twin::BoardChange& it) {
    json.member("host", it.host).member("gpu", it.gpu).member("what", to_word(it.what));
    json.member("before", it.before).member("now", it.now).member("unit", it.unit());
    json.member("since_ns", it.since_ns);
  });
  json.end_object();
}

/// Makes plans of a job and says them, once or as often as it is watched.
struct Planner {
  const Arguments& arguments;
  const optimize::Options& options;
  const spec::Settings& settings;
  const spec::Job& job;
  const std::vector<std::string>& given_hosts;
  const Console& console;

  Result<Plan> plan(std::optional<Boards> boards) const {
    Plan plan{std::move(boards), {}, given_hosts, {}};
    spec::Job played = job;
    if (plan.boards) {
      played = on_boards(std::move(played), *plan.boards);
      if (plan.hosts.empty()) plan.hosts = names_of_nodes(*plan.boards, job);
    }
    ERGOMETER_ASSIGN(plan.result, optimized(played, options, arguments));
    if (arguments.has("out")) plan.files = optimize::files_of(plan.result, settings, plan.hosts);
    return plan;
  }

  Result<void> write_files(const Plan& plan) const {
    if (plan.files.empty()) return {};
    return cli::write_files(arguments.value("out"), plan.files, console);
  }

  /// Of plans that follow each other each is a line.
  std::string json(const Plan& plan, const std::optional<PlanCause>& cause) const {
    const auto also = [&](base::JsonWriter& json) {
      if (plan.boards) write_boards(json, *plan.boards);
      if (cause) write_cause(json, *cause);
    };
    return report::optimize_json(plan.result, options, plan.files, also,
                                 cause ? base::kOneLine : base::JsonWriter::Layout::kLines);
  }

  std::string boards_text(const Plan& plan) const {
    return plan.boards ? to_text(*plan.boards, arguments.value("from")) + '\n' : std::string();
  }

  /// Files are those of the last plan that says to change something.
  Result<WatchedPlan> watched_plan(const run::DeviceLog& log, const PlanCause& cause) const {
    ERGOMETER_ASSIGN(Boards boards,
                     calibration::twin::fit_boards(log, job, arguments.value("from"), given_hosts));
    ERGOMETER_ASSIGN(const Plan made, plan(std::move(boards)));
    if (cause.number == 1 || !made.result.keeps) ERGOMETER_TRY(write_files(made));
    return WatchedPlan{made.result.keeps, report::verdict_text(made.result, options),
                       boards_text(made) + report::plan_text(made.result, options, made.hosts,
                                                             terminal_style(console.out)),
                       json(made, cause)};
  }
};

}  // namespace

Result<std::vector<Knob>> optimize_knobs(const std::string& text) {
  std::vector<Knob> knobs;
  std::vector<std::string_view> words;
  for (const Knob knob : optimize::all_knobs()) words.push_back(to_word(knob));
  for (const std::string& word : base::split(text, ',')) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) {
      return input_error("--knobs: '{}' is not one of {}{}", word, fmt::join(words, ", "),
                         base::did_you_mean(word, words));
    }
    knobs.push_back(optimize::all_knobs()[static_cast<size_t>(found - words.begin())]);
  }
  if (knobs.empty())
    return input_error("--knobs: no knob is named; it is a list of {}", fmt::join(words, ", "));
  return knobs;
}

std::vector<Flag> optimize_flags() {
  std::vector<Flag> flags = setting_flags();
  // What it finds is launched, which compression is not; a job file may say it all the same.
  std::erase_if(flags, [](const Flag& flag) { return flag.name.starts_with("compress-"); });
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "optimization", help));
  };
  add("knobs", "LIST", "what may change: placement,layers,recompute,caps,clocks; all by default");
  flags.push_back(option("objective", "time|energy|peak-power|temperature", "optimization",
                         "what there shall be less of; time")
                      .one_of({"time", "energy", "peak-power", "temperature"}));
  flags.push_back(option("balance", "slowest|median|fastest", "optimization",
                         "caps by GPU until none waits for the others, and nothing else")
                      .one_of({"slowest", "median", "fastest"}));
  flags.push_back(option("operator-clocks", "TIME", "optimization",
                         "what clocks by kind of kernel would bring beyond one locked clock, where "
                         "a change of clock takes TIME; 10ms")
                      .with_optional_value());
  add("from", "FILE,...",
      "a recording of the job: what its GPUs differ by; then less energy at no more than the noise "
      "floor's time, unless said");
  add("noise-floor", "PCT",
      "how far two runs of the same job differ: a gain has to exceed it; 0.5");
  add("max-slowdown", "PCT", "how much longer a step may take for less energy, power or heat; 1");
  add("draws", "N", "draws of silicon that decide; 12");
  add("out", "FOLDER", "write job file, rank map, host file, nvidia-smi scripts into it");
  add("hosts", "LIST", "names of the nodes in those files: a01,a02,...; node0, node1, ...");
  add_watch_flags(flags);
  flags.push_back(threads_flag());
  flags.back().group = "optimization";
  return flags;
}

Result<int> run_optimize(const Arguments& arguments, const Console& console) {
  if (!names_job(arguments))
    return input_error(
        "optimize: JOB is missing; usage: ergometer optimize MODEL|FILE... --cluster CLUSTER");
  for (const char* other : {"knobs", "objective", "max-slowdown", "operator-clocks"})
    if (arguments.has("balance") && arguments.has(other))
      return input_error("--balance moves watts and decides by itself: leave --{} out", other);
  ERGOMETER_TRY(check_watch(arguments));
  ERGOMETER_ASSIGN(const optimize::Options options, optimize_options(arguments, console));
  ERGOMETER_ASSIGN(const spec::Settings settings, gather_settings(arguments, console));
  ERGOMETER_ASSIGN(const spec::Job job, resolve_job(settings, console));
  ERGOMETER_ASSIGN(const std::vector<std::string> hosts, named_hosts(arguments, job));
  const Planner planner{arguments, options, settings, job, hosts, console};
  if (arguments.has("watch"))
    return watch_plans(
        arguments, job,
        [&](const run::DeviceLog& log, const PlanCause& cause) {
          return planner.watched_plan(log, cause);
        },
        console);
  std::optional<Boards> boards;
  if (arguments.has("from")) {
    ERGOMETER_ASSIGN(boards, recorded_boards(arguments, job, hosts, options.threads));
  }
  ERGOMETER_ASSIGN(const Plan plan, planner.plan(std::move(boards)));
  ERGOMETER_TRY(planner.write_files(plan));
  if (arguments.has("json")) {
    console.answer(planner.json(plan, {}));
    return 0;
  }
  console.answer(planner.boards_text(plan) + report::optimize_text(plan.result, options, plan.hosts,
                                                                   terminal_style(console.out)));
  return 0;
}

}  // namespace ergometer::cli
