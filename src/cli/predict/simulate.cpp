#include "cli/predict/simulate.h"

#include <fmt/format.h>

#include "base/output_file.h"
#include "cli/console/terminal.h"
#include "cli/job/job_settings.h"
#include "cli/job/rank_list.h"
#include "cli/job/whole_run.h"
#include "compare/fused.h"
#include "compare/taxes.h"
#include "compare/trained_apart.h"
#include "engine/kernel_stream.h"
#include "engine/simulate.h"
#include "page/write_report.h"
#include "report/explain/assumptions.h"
#include "report/explain/explain.h"
#include "report/explain/explain_taxes.h"
#include "report/measured/telemetry_csv.h"
#include "report/summary/job_json.h"
#include "report/summary/summary_json.h"
#include "report/summary/summary_text.h"
#include "report/timeline/kineto_trace.h"
#include "report/timeline/trace.h"
#include "run/job_settings.h"
#include "spec/files/settings_record.h"
#include "spec/job/job_words.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {
namespace {

bool needs_energy_parts(const std::string& explained) {
  return explained.starts_with("energy") || explained.ends_with("_cost_s");
}

Result<engine::SimulateOptions> simulate_options(const Arguments& arguments, const spec::Job& job) {
  engine::SimulateOptions options;
  options.expert_rows = true;
  options.sequence_rows = true;
  options.engine = arguments.value("engine") == "event" ? engine::EngineKind::kEvents
                                                        : engine::EngineKind::kSweep;
  const bool whole = arguments.has("run") || arguments.has("report");
  // A trace says on which node each of its ranks is.
  options.all_ranks = arguments.has("ranks") || arguments.has("trace") || whole;
  options.energy_parts =
      whole || arguments.has("json") || needs_energy_parts(arguments.value("explain"));
  if (arguments.has("trace-ranks")) {
    ERGOMETER_ASSIGN(options.sampled_ranks,
                     parse_ranks("--trace-ranks", arguments.value("trace-ranks"), job.gpus));
  } else if (arguments.has("trace") || arguments.has("telemetry") || whole) {
    options.sampled_ranks = first_of_every_stage(job);
    if (!arguments.has("trace")) options.most_kernels = kMostKernels;
  }
  if (whole) add_detail(job, arguments.has("telemetry"), options);
  options.kernels = whole;
  return options;
}

/// "4 ranks, the first of every stage (--trace-ranks chooses)".
std::string traced_words(const Arguments& arguments, const std::vector<int64_t>& ranks) {
  std::string count = ranks.size() == 1 ? fmt::format("rank {}", ranks.front())
                                        : fmt::format("{} ranks", ranks.size());
  if (arguments.has("trace-ranks")) return count;
  return count + (ranks.size() == 1 ? " (--trace-ranks chooses)"
                                    : " (the first of every stage; --trace-ranks chooses)");
}

Result<void> write_timeline(const Arguments& arguments, const run::Run& run,
                            const report::KernelSource& kernels, const std::vector<int64_t>& ranks,
                            const Console& console) {
  const std::string path = arguments.value("trace"), whose = traced_words(arguments, ranks);
  if (!report::is_kineto_path(path)) {
    ERGOMETER_TRY(report::write_trace(run, kernels, path));
    console.note("trace of {} written to {}; open it at https://ui.perfetto.dev", whose, path);
    return {};
  }
  ERGOMETER_ASSIGN(const std::vector<std::string> files, report::write_kineto(run, kernels, path));
  console.note("trace of {} in PyTorch's terms written to {}{}", whose, files.front(),
               files.size() > 1 ? " ... " + files.back() : "");
  return {};
}

Result<void> save_schedule(const std::string& path, const spec::Job& job, const Console& console) {
  if (job.is_inference())
    return input_error("--schedule-save: inference has no backward; its order is no schedule");
  if (job.parallelism.divides_vocabulary())
    return input_error(
        "--schedule-save: a schedule file does not say the passes of --vocabulary-parallel");
  if (job.parallelism.trains_apart())
    return input_error(
        "--schedule-save: a schedule file does not say what stages learn from, --stage-training");
  const std::string text =
      spec::schedule_text(spec::pipeline_order(job.parallelism, job.micro_batches()),
                          to_word(job.parallelism.schedule));
  ERGOMETER_TRY(base::write_file_atomically(path, text));
  console.note("schedule written to {}", path);
  return {};
}

Result<void> check_telemetry(const run::Run& run) {
  if (run.has_power) return {};
  return input_error(
      "--telemetry: this job has none: nothing is known of its GPU's power or of its node's "
      "cooling, or clocks are constant");
}

Result<void> write_files(const Arguments& arguments, const run::Run& run,
                         const report::KernelSource& kernels, const std::vector<int64_t>& ranks,
                         const Console& console) {
  if (arguments.has("run")) {
    ERGOMETER_TRY(run::write_run(run, arguments.value("run")));
    console.note("Run written to {}", arguments.value("run"));
  }
  if (arguments.has("report")) {
    const std::string path = arguments.value("report");
    ERGOMETER_TRY(page::write_report({{page::name_of_file(path), run}}, {}, path));
    console.note("report written to {}", path);
  }
  if (arguments.has("trace"))
    ERGOMETER_TRY(write_timeline(arguments, run, kernels, ranks, console));
  if (arguments.has("telemetry")) {
    ERGOMETER_TRY(check_telemetry(run));
    ERGOMETER_TRY(report::write_telemetry(run, arguments.value("telemetry")));
    console.note("telemetry written to {}", arguments.value("telemetry"));
  }
  return {};
}

Result<report::Explanation> explain(const std::string& name, const spec::Job& job,
                                    engine::Simulation& simulation) {
  if (name != "taxes") return report::explain(simulation.run, job, name);
  ERGOMETER_ASSIGN(const compare::Taxes taxes, compare::taxes(job, simulation));
  return report::explain_taxes(taxes);
}

Result<void> print_answer(const Arguments& arguments, const spec::Job& job,
                          engine::Simulation& simulation,
                          const std::optional<compare::TrainedApart>& trained,
                          const Console& console) {
  const run::Run& run = simulation.run;
  const report::TextStyle style = terminal_style(console.out);
  const bool explains = arguments.has("explain");
  report::Explanation explanation;
  if (explains) {
    ERGOMETER_ASSIGN(explanation, explain(arguments.value("explain"), job, simulation));
  }
  if (arguments.has("json")) {
    console.answer(report::summary_json(run, arguments.has("ranks"),
                                        explains ? report::to_json(explanation) : "", trained));
  } else if (explains) {
    console.answer(report::to_text(explanation, style));
  } else {
    console.answer(report::summary_text(run, style));
    if (arguments.has("ranks")) console.answer('\n' + report::ranks_text(run, style));
  }
  return {};
}

/// "micro_batch_size = 4  (ds.json:3: train_micro_batch_size_per_gpu)", a line each.
std::string settings_text(const spec::Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.all()) {
    const std::string& key = value.origin.key;
    text += fmt::format("{} = {}  ({}{}{})\n", name, value.text, value.origin.text,
                        key.empty() ? "" : ": ", key);
  }
  return text;
}

tl::unexpected<base::Error> model_is_missing(const Arguments& arguments) {
  std::string message = "simulate: MODEL is missing";
  // `--explain llama3-70b` reads the model as the name of a number.
  if (const std::string taken = arguments.value("explain"); !taken.empty())
    message += fmt::format(" (--explain took '{}'; put MODEL before it)", taken);
  return input_error(message + "; usage: ergometer simulate MODEL|FILE... --cluster CLUSTER");
}

}  // namespace

std::vector<Flag> simulate_flags() {
  std::vector<Flag> flags = setting_flags();
  const auto add = [&](const char* name, const char* value, const char* help) {
    flags.push_back(option(name, value, "output", help));
  };
  flags.push_back(option("engine", "sweep|event", "output",
                         "the sweep, or the slow event engine that checks it")
                      .one_of({"sweep", "event"}));
  add("run", "FILE", "write the whole Run as an SQLite file");
  add("report", "FILE.html", "write the Run as a page that needs no network");
  add("trace", "FILE",
      "write a timeline for ui.perfetto.dev, of one rank a stage; packed as FILE.gz; in PyTorch's "
      "terms, a file a rank, as FILE.kineto.json");
  add("telemetry", "FILE", "write what power, temperature and clock sensors show as CSV");
  add("schedule-save", "FILE",
      "write the order of work of every pipeline stage, for --schedule-file");
  add("trace-ranks", "LIST",
      "whose timeline and telemetry: 0,8-11 or all; by default the first of every stage");
  add("ranks", "", "a line for every rank");
  flags.push_back(
      option("explain", "NAME", "output",
             "where a number comes from: mfu, memory.peak_bytes, op:qkv, energy, taxes, ...; "
             "without NAME every setting")
          .with_optional_value());
  add("settings", "",
      "what the files and options say, each with where it stands; nothing is simulated");
  return flags;
}

Result<int> run_simulate(const Arguments& arguments, const Console& console) {
  if (!names_job(arguments)) return model_is_missing(arguments);
  ERGOMETER_ASSIGN(const spec::Settings settings, gather_settings(arguments, console));
  if (arguments.has("settings")) {
    console.answer(settings_text(settings));
    return 0;
  }
  ERGOMETER_ASSIGN(const spec::Job job, resolve_job(settings, console));
  if (arguments.has("schedule-save"))
    ERGOMETER_TRY(save_schedule(arguments.value("schedule-save"), job, console));
  ERGOMETER_ASSIGN(const engine::SimulateOptions options, simulate_options(arguments, job));
  ERGOMETER_ASSIGN(engine::Simulation simulation, engine::simulate_in_full(job, options));
  run::Run& run = simulation.run;
  run.job_json = report::job_json(job);
  if (!job.training.fuse.empty()) {
    spec::Settings without = settings;
    without.erase("fuse");
    ERGOMETER_ASSIGN(const spec::Job unfused, spec::resolve(without));
    ERGOMETER_ASSIGN(const compare::FusedGain gain, compare::fused_gain(job, unfused, run));
    console.note(compare::to_text(gain));
  }
  std::optional<compare::TrainedApart> trained;
  if (job.parallelism.trains_apart()) {
    ERGOMETER_ASSIGN(trained, compare::trained_apart(job, run));
    console.note(compare::to_text(*trained));
  }
  if (arguments.has("run")) {
    ERGOMETER_ASSIGN(const spec::Settings whole, spec::without_files(settings));
    run.facts["settings"] = spec::settings_json(whole);
  }
  run.facts[run::kCommandFact] = job_command(arguments);
  if (arguments.has("run") || arguments.has("report")) run.assumptions = report::assumptions(job);
  const engine::KernelStream kernels(job, simulation, options.engine, options.sampled_ranks);
  ERGOMETER_TRY(write_files(
      arguments, run, [&](const auto& use) { kernels.each(use); }, options.sampled_ranks, console));
  ERGOMETER_TRY(print_answer(arguments, job, simulation, trained, console));
  const bool runs = run.memory.fits && run.thermal.shutdown_gpus == 0;
  return runs ? 0 : static_cast<int>(base::ErrorKind::kNo);
}

}  // namespace ergometer::cli
