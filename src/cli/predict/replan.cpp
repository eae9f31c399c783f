#include "cli/predict/replan.h"

#include "base/collection.h"
#include "base/file.h"
#include "cli/console/option_values.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/job/job_settings.h"
#include "cli/predict/optimize.h"
#include "report/decision/replan_output.h"
#include "spec/catalog/read.h"
#include "spec/job/measure_range.h"

namespace ergometer::cli {
namespace {

using optimize::Knob;

constexpr int64_t kMostReplanDraws = 256;

Result<double> time_of(const Arguments& arguments, const char* name, double least_s) {
  const auto seconds =
      spec::MeasureRange{"s", least_s, campaign::kLongestReplanS}.read(arguments.value(name));
  if (seconds) return *seconds;
  return input_error("--{}: {}", name, seconds.error().message);
}

Result<optimize::Options> replan_options(const Arguments& arguments, const Console& console) {
  optimize::Options options;
  options.knobs = {Knob::kPlacement, Knob::kLayers, Knob::kCaps};
  if (arguments.has("knobs")) {
    ERGOMETER_ASSIGN(options.knobs, optimize_knobs(arguments.value("knobs")));
  }
  if (base::contains(options.knobs, Knob::kClocks))
    return input_error(
        "--knobs: found clocks, which make no step shorter; allowed: a list of "
        "placement, layers, recompute, caps");
  ERGOMETER_ASSIGN(
      const int64_t draws,
      whole_number(arguments, "draws", static_cast<int64_t>(options.judges), 4, kMostReplanDraws));
  options.judges = static_cast<size_t>(draws);
  ERGOMETER_ASSIGN(options.threads, thread_count(arguments));
  if (is_terminal(console.err))
    options.progress = [&console](const std::string& what) { console.note(what); };
  return options;
}

Result<campaign::ReplanAsk> replan_ask(const Arguments& arguments, const spec::Settings& job,
                                       const Console& console) {
  campaign::ReplanAsk ask;
  ERGOMETER_ASSIGN(ask.options, replan_options(arguments, console));
  ERGOMETER_ASSIGN(const double length_s, time_of(arguments, "length", 60));
  if (arguments.has("restart")) {
    ERGOMETER_ASSIGN(ask.restart_s, time_of(arguments, "restart", 0));
  }
  const std::string path = arguments.value("changes");
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, spec::kLargestWritten));
  ERGOMETER_ASSIGN(const std::vector<campaign::Change> changes,
                   campaign::parse_changes(text, path));
  ERGOMETER_ASSIGN(ask.stretches, campaign::stretches_of(job, changes, length_s, path));
  return ask;
}

/// Of a moment, where a run has hours.
bool is_of_a_moment(const Flag& flag) {
  constexpr std::string_view kNames[] = {"duration", "measured-step", "steady",
                                         "start-c",  "run-phases",    "sensor"};
  return base::contains(kNames, flag.name);
}

}  // namespace

std::vector<Flag> replan_flags() {
  std::vector<Flag> flags = setting_flags();
  std::erase_if(flags, is_of_a_moment);
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "re-planning", help));
  };
  add("changes", "FILE.yaml",
      "what changes while it runs: `changes`, a list of {at, until, inlet_c, fan, power_cap, "
      "lock_clock, cluster_cap, power_smoothing, override}");
  add("length", "TIME", "how long the run is: 8h");
  add("restart", "TIME",
      "what a change of layout takes: checkpoint, start, checkpoint read; by default 1 GB/s a node "
      "to storage and 10 min");
  add("knobs", "LIST", "what may change: placement,layers,recompute,caps; all but recompute");
  add("draws", "N", "draws of silicon that decide whether a layout is better; 12");
  flags.push_back(threads_flag());
  flags.back().group = "re-planning";
  return flags;
}

Result<int> run_replan(const Arguments& arguments, const Console& console) {
  const char* missing = !names_job(arguments)       ? "JOB"
                        : !arguments.has("changes") ? "--changes"
                        : !arguments.has("length")  ? "--length"
                                                    : nullptr;
  if (missing != nullptr)
    return input_error(
        "replan: {} is missing; usage: ergometer replan MODEL|FILE... --changes FILE --length TIME",
        missing);
  ERGOMETER_ASSIGN(const spec::Settings settings, gather_settings(arguments, console));
  tell_job(settings, "", console);
  ERGOMETER_ASSIGN(const campaign::ReplanAsk ask, replan_ask(arguments, settings, console));
  ERGOMETER_ASSIGN(const campaign::Replan replan, campaign::replan(settings, ask));
  console.answer(arguments.has("json") ? report::replan_json(replan)
                                       : report::replan_text(replan, terminal_style(console.out)));
  return 0;
}

}  // namespace ergometer::cli
