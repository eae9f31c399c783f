#include "cli/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/output_file.h"
#include "cli/job_settings.h"
#include "cli/terminal.h"
#include "engine/simulate.h"
#include "report/explain.h"
#include "report/job_json.h"
#include "report/summary_json.h"
#include "report/summary_text.h"
#include "report/telemetry_csv.h"
#include "report/trace.h"

namespace ergometer::cli {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

/// "0,8-15": rank numbers and ranges below `ranks`; "all".
base::Result<std::vector<int64_t>> parse_ranks(const std::string& text, int64_t ranks) {
  std::vector<int64_t> list;
  const auto number = [&](std::string_view word, int64_t& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value >= 0 && value < ranks;
  };
  for (const std::string& part : text == "all"
                                     ? std::vector<std::string>{fmt::format("0-{}", ranks - 1)}
                                     : split(text, ',')) {
    const size_t dash = part.find('-');
    int64_t first = 0, last = 0;
    bool good = number(std::string_view(part).substr(0, dash), first);
    last = first;
    if (dash != std::string::npos)
      good = good && number(std::string_view(part).substr(dash + 1), last);
    if (!good || last < first)
      return base::input_error(fmt::format(
          "--trace-ranks: '{}' is not a rank or a range of ranks from 0 to {}, like 0,8-11", part,
          ranks - 1));
    for (int64_t rank = first; rank <= last; ++rank) list.push_back(rank);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.empty()) return base::input_error("--trace-ranks: no rank is named; like 0,8-11 or all");
  return list;
}

/// The first rank of every pipeline stage: together they show the whole schedule.
std::vector<int64_t> first_of_every_stage(const spec::Job& job) {
  std::vector<int64_t> list;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage)
    list.push_back(stage * job.stage_ranks());
  return list;
}

base::Result<engine::SimulateOptions> options_of(const Arguments& arguments, const spec::Job& job) {
  engine::SimulateOptions options;
  options.engine = arguments.value("engine") == "event" ? engine::EngineKind::kEvents
                                                        : engine::EngineKind::kSweep;
  options.all_ranks = arguments.has("ranks") || arguments.has("run");
  if (arguments.has("trace-ranks")) {
    ERGOMETER_ASSIGN(options.sampled_ranks, parse_ranks(arguments.value("trace-ranks"), job.gpus));
  } else if (arguments.has("trace") || arguments.has("run") || arguments.has("telemetry")) {
    options.sampled_ranks = first_of_every_stage(job);
  }
  return options;
}

base::Result<void> check_telemetry(const run::Run& run) {
  if (run.has_power) return {};
  return base::input_error(
      "--telemetry: this job has none: nothing is known of its GPU's power or of its node's "
      "cooling, or clocks are constant");
}

base::Result<void> write_files(const Arguments& arguments, const run::Run& run,
                               const Console& console) {
  if (arguments.has("run")) {
    ERGOMETER_TRY(run::write_run(run, arguments.value("run")));
    console.note(fmt::format("Run written to {}", arguments.value("run")));
  }
  if (arguments.has("trace")) {
    ERGOMETER_TRY(report::write_trace(run, arguments.value("trace")));
    console.note(fmt::format("trace written to {}; open it at https://ui.perfetto.dev",
                             arguments.value("trace")));
  }
  if (arguments.has("telemetry")) {
    ERGOMETER_TRY(check_telemetry(run));
    ERGOMETER_TRY(report::write_telemetry(run, arguments.value("telemetry")));
    console.note(fmt::format("telemetry written to {}", arguments.value("telemetry")));
  }
  return {};
}

base::Result<void> print_answer(const Arguments& arguments, const run::Run& run,
                                const spec::Job& job, const Console& console) {
  const report::TextStyle style = terminal_style(console.out);
  const bool explains = arguments.has("explain");
  report::Explanation explanation;
  if (explains) {
    ERGOMETER_ASSIGN(explanation, report::explain(run, job, arguments.value("explain")));
  }
  if (arguments.has("json")) {
    console.answer(report::summary_json(run, arguments.has("ranks"),
                                        explains ? report::to_json(explanation) : ""));
  } else if (explains) {
    console.answer(report::to_text(explanation, style));
  } else {
    console.answer(report::summary_text(run, style));
    if (arguments.has("ranks")) console.answer('\n' + report::ranks_text(run, style));
  }
  return {};
}

tl::unexpected<base::Error> model_is_missing(const Arguments& arguments) {
  std::string message = "simulate: MODEL is missing";
  // `--explain llama3-70b` reads the model as the name of a number.
  if (const std::string taken = arguments.value("explain"); !taken.empty())
    message += fmt::format(" (--explain took '{}'; put MODEL before it)", taken);
  return base::input_error(message +
                           "; usage: ergometer simulate MODEL|JOB.yaml --cluster CLUSTER");
}

}  // namespace

std::vector<Flag> simulate_flags() {
  using Takes = Flag::Takes;
  std::vector<Flag> flags = setting_flags();
  const auto add = [&](const char* name, Takes takes, const char* value, const char* group,
                       const char* help, std::vector<std::string> choices = {}) {
    const bool checked = !choices.empty();
    flags.push_back({name, "", takes, value, group, help, std::move(choices), checked});
  };
  add("engine", Takes::kValue, "sweep|event", "output",
      "the sweep, or the slow event engine that checks it", {"sweep", "event"});
  add("run", Takes::kValue, "FILE", "output", "write the whole Run as an SQLite file");
  add("trace", Takes::kValue, "FILE", "output", "write a timeline for ui.perfetto.dev");
  add("telemetry", Takes::kValue, "FILE", "output",
      "write what power, temperature and clock sensors show as CSV");
  add("trace-ranks", Takes::kValue, "LIST", "output",
      "whose timeline and telemetry: 0,8-11 or all; by default the first of every stage");
  add("ranks", Takes::kNothing, "", "output", "a line for every rank");
  add("explain", Takes::kOptionalValue, "NAME", "output",
      "where a number comes from: mfu, memory.peak_bytes, op:qkv, ...; without NAME every setting");
  return flags;
}

base::Result<int> run_simulate(const Arguments& arguments, const Console& console) {
  if (!names_job(arguments)) return model_is_missing(arguments);
  ERGOMETER_ASSIGN(const spec::Settings settings, gather_settings(arguments, console));
  ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(settings));
  if (!job.model.unknown_keys.empty())
    console.note(fmt::format("{}: keys without a meaning here: {}", job.model.name,
                             fmt::join(job.model.unknown_keys, ", ")));
  ERGOMETER_ASSIGN(const engine::SimulateOptions options, options_of(arguments, job));
  ERGOMETER_ASSIGN(run::Run run, engine::simulate(job, options));
  run.job_json = report::job_json(job);
  ERGOMETER_TRY(write_files(arguments, run, console));
  ERGOMETER_TRY(print_answer(arguments, run, job, console));
  return run.memory.fits ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
