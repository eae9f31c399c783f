#include "cli/analyze/analyze.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "analysis/flight/flight_report.h"
#include "analysis/operations/operation_slowdown.h"
#include "analysis/tell.h"
#include "base/text.h"
#include "cli/analyze/analyze_dumps.h"
#include "cli/analyze/gpu_peak.h"
#include "cli/console/option_values.h"
#include "cli/console/terminal.h"
#include "cli/console/threads.h"
#include "cli/predict/compare.h"
#include "compare/measured.h"
#include "import/import.h"
#include "import/operations/operations.h"
#include "page/write_report.h"
#include "report/format.h"
#include "report/measured/beside_prediction.h"
#include "report/measured/findings.h"
#include "report/measured/flight_output.h"
#include "report/measured/job_report_json.h"
#include "report/measured/job_report_text.h"
#include "report/measured/operations_output.h"
#include "report/measured/telemetry_json.h"
#include "report/measured/trace_json.h"
#include "report/measured/trace_text.h"
#include "report/summary/job_view.h"
#include "report/summary/power_text.h"
#include "run/file/prediction.h"

namespace ergometer::cli {
namespace {

/// Only the steps that --steps asks for. Returns what of them is not there, a sentence; empty: all
/// are.
Result<std::string> select_steps(const Arguments& arguments, std::vector<run::RankTrace>& ranks) {
  const std::string steps = arguments.value("steps", "all");
  if (steps == "all") return "";
  ERGOMETER_ASSIGN(const analysis::StepRange range, analysis::parse_steps(steps));
  if (ranks.empty())
    return input_error("--steps: found {}, allowed where traces mark steps; {} holds no trace",
                       steps, arguments.words.front());
  std::string missing = analysis::note_of_missing_steps(ranks, range);
  for (run::RankTrace& trace : ranks) {
    ERGOMETER_ASSIGN(run::RankTrace chosen, analysis::select_steps(trace, range));
    trace = std::move(chosen);
  }
  return missing;
}

void note_truncated(const std::vector<run::RankTrace>& ranks, const Console& console) {
  for (const run::RankTrace& trace : ranks)
    if (trace.truncated)
      console.note("{}: ends in the middle; what it holds up to there is analysed", trace.file);
}

void choose_classes(const Arguments& arguments, analysis::TraceSummary& summary) {
  if (arguments.value("classes") != "study") return;
  summary.classes = analysis::study_table(summary.kernels);
  summary.study_classes = true;
}

void answer_parts(const std::vector<std::string>& parts, const Console& console) {
  for (const std::string& part : parts)
    if (!part.empty()) console.answer('\n' + part);
}

/// --report, of a Run that may be without a name of its own.
Result<void> write_page(run::Run run, const Arguments& arguments, const Console& console) {
  const std::string path = arguments.value("report");
  const std::string name = page::name_of_file(arguments.words.front());
  page::DocumentOptions options;
  options.peak_of = peak_of;
  ERGOMETER_TRY(page::write_report({{name, std::move(run)}}, options, path));
  console.note("report written to {}", path);
  return {};
}

run::Run make_run(importer::Recorded recorded) {
  importer::Traces& traces = recorded.traces;
  run::Run run = analysis::make_run(std::move(traces.ranks), std::move(traces.dropped),
                                    std::move(traces.graphs));
  if (recorded.telemetry.any) run.log = std::move(recorded.telemetry.log);
  run.job_json = std::move(recorded.telemetry.job_json);
  return run;
}

/// What was read, as a Run; a Run file by itself knows more than its traces and telemetry.
Result<run::Run> as_run(importer::Recorded recorded, const Arguments& arguments) {
  if (arguments.words.size() == 1 && !arguments.has("steps")) {
    ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(arguments.words.front()));
    if (is_run) return run::read_run(arguments.words.front());
  }
  return make_run(std::move(recorded));
}

/// The Run, when the user named one file and it is a simulated Run.
Result<std::optional<run::Run>> simulated_run(const std::vector<std::string>& words) {
  std::error_code error;
  if (words.size() != 1 || !std::filesystem::is_regular_file(words[0], error) ||
      run::has_traces(words[0]).value_or(true))
    return std::nullopt;
  auto run = run::read_run(words[0]);
  if (!run || run->source != "simulated") return std::nullopt;
  if (run->study)
    return input_error(
        "{}: holds a study of {} jobs, not one job; `ergometer report` makes its page", words[0],
        run->study->points.size());
  return std::move(*run);
}

/// A timeline of operations, which is one file by itself.
Result<std::optional<run::OperationTimeline>> operations_of(const Arguments& arguments) {
  if (arguments.words.size() != 1) return std::nullopt;
  return importer::open_operations(arguments.words[0], arguments.value("groups"));
}

/// Only the steps that --steps asks for.
Result<void> select_steps(const Arguments& arguments, run::OperationTimeline& timeline,
                          const Console& console) {
  const std::string steps = arguments.value("steps", "all");
  if (steps == "all") return {};
  ERGOMETER_ASSIGN(const analysis::StepRange range, analysis::parse_steps(steps));
  std::vector<int32_t> kept(timeline.steps.size(), -1);
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (timeline.steps[i] < range.first || timeline.steps[i] > range.last) continue;
    kept[i] = static_cast<int32_t>(numbers.size());
    numbers.push_back(timeline.steps[i]);
  }
  if (numbers.empty())
    return input_error("--steps: found {}, allowed: steps from {} to {}, which {} holds", steps,
                       timeline.steps.front(), timeline.steps.back(), timeline.file);
  const auto asked = static_cast<uint64_t>(range.last - range.first) + 1;
  if (numbers.size() < asked)
    console.note("of the {} steps {}..{}, {} has {}: it holds {} to {}; numbers are of those",
                 asked, range.first, range.last, timeline.file, numbers.size(),
                 timeline.steps.front(), timeline.steps.back());
  std::erase_if(timeline.operations, [&](const auto& o) { return kept[o.step] < 0; });
  for (run::Operation& operation : timeline.operations) operation.step = kept[operation.step];
  timeline.steps = std::move(numbers);
  return {};
}

Result<int> analyze_operations(run::OperationTimeline timeline, const Arguments& arguments,
                               const Console& console) {
  if (arguments.has("report"))
    return input_error(timeline.file +
                       ": a timeline of operations has no page; leave --report out");
  ERGOMETER_TRY(select_steps(arguments, timeline, console));
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  const analysis::OperationSlowdown of = analysis::operation_slowdown(timeline, threads);
  console.answer(arguments.has("json")
                     ? report::operations_json(of, timeline.file)
                     : report::operations_text(of, timeline.file, terminal_style(console.out)));
  return 0;
}

/// Tables of more ranks are for SQL and pages.
constexpr size_t kMostRanksListed = 64;

/// What a simulated job's sampled ranks tell beside its own summary.
std::string sampled_text(const run::Run& run, const analysis::ToldOfRun& of,
                         const report::TextStyle& style) {
  const analysis::TraceSummary& summary = of.told.summary;
  const std::string job = report::job_report_text(of.told.job, style);
  if (of.traces.empty()) return job + '\n' + report::findings_text(summary.findings, style);
  const std::string heading = report::wrap(
      "Sampled ranks, as a profiler would have recorded them: communication holds the wait for who "
      "comes late",
      80, 0);
  return heading + "\n\n" + report::trace_text(summary, run.dropped, style, job);
}

/// A simulated job, looked at as a recorded one: its own summary, of all ranks, and what the
/// sampled ranks' kernels and sensors tell.
Result<int> analyze_simulated(const run::Run& run, const Arguments& arguments,
                              const Console& console) {
  const report::JobView view = report::view_job(run.job_json);
  const auto one = [](int64_t degree) { return std::max<int64_t>(degree, 1); };
  analysis::ToldOfRun of = analysis::tell_simulated(
      run, {one(view.tp), one(view.cp), one(view.dp), one(view.pp), one(view.ep)});
  choose_classes(arguments, of.told.summary);
  of.told.summary.performance.reset();  // the Run's own stands above
  if (arguments.has("json")) {
    const auto more = [&](base::JsonWriter& json) {
      report::write_readings(json, of.log, of.told.power);
      report::write_job_report(json, of.told.job);
    };
    console.answer(report::trace_json(of.told.summary, run.dropped, more, &run));
    return 0;
  }
  const report::TextStyle style = terminal_style(console.out);
  console.answer(report::summary_text(run, style));
  if (run.ranks.size() <= kMostRanksListed)
    answer_parts({report::rank_power_text(run, style)}, console);
  answer_parts({sampled_text(run, of, style)}, console);
  return 0;
}

/// What was predicted of the job when it was recorded, beside what was measured.
std::optional<report::BesidePrediction> kept_prediction(const importer::Recorded& recorded,
                                                        const Arguments& arguments) {
  if (arguments.words.size() != 1) return std::nullopt;
  const std::string& file = arguments.words.front();
  return report::beside_prediction(run::read_fact(file, run::kPredictionFact),
                                   recorded.traces.ranks, recorded.telemetry.log, file);
}

/// Answers with what traces, telemetry and flight recorders tell.
Result<void> analyze_files(importer::Recorded& recorded, const Arguments& arguments,
                           const Console& console) {
  auto& [traces, telemetry] = recorded;
  const bool no_trace = traces.empty();
  if (no_trace && !telemetry.any && !traces.dumps.empty())
    return analyze_dumps(traces, arguments, console);
  analysis::Beside beside{.peak = peak_of(traces.ranks), .energy = {}};
  if (telemetry.any) beside.energy = analysis::energy_of(traces.ranks, telemetry.log);
  ERGOMETER_ASSIGN(const std::string missing, select_steps(arguments, traces.ranks));
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  analysis::Told told = analysis::tell(traces.ranks, telemetry.log, std::move(beside), threads);
  told.summary.graphs = analysis::summarize_graphs(traces.graphs);
  if (!missing.empty()) told.summary.notes.push_back(missing);
  choose_classes(arguments, told.summary);
  const analysis::FlightReport flight = analysis::report_flight(traces.dumps);
  auto& findings = told.summary.findings;
  findings.insert(findings.begin(), flight.findings.begin(), flight.findings.end());
  const auto kept = kept_prediction(recorded, arguments);
  const auto more = [&](base::JsonWriter& json) {
    if (kept) report::write_beside_prediction(json, *kept);
    if (telemetry.any && !no_trace) report::write_telemetry(json, telemetry.log, told.power);
    report::write_job_report(json, told.job);
    if (!traces.dumps.empty()) report::write_flight(json, flight);
    if (no_trace) report::write_findings(json, told.summary.findings);
  };
  if (arguments.has("json")) {
    console.answer(no_trace ? report::telemetry_json(telemetry.log, told.power, more)
                            : report::trace_json(told.summary, traces.dropped, more));
    return {};
  }
  const report::TextStyle style = terminal_style(console.out);
  std::string job = report::job_report_text(told.job, style);
  if (!traces.dumps.empty()) job += (job.empty() ? "" : "\n") + report::flight_text(flight, style);
  if (!no_trace) console.answer(report::trace_text(told.summary, traces.dropped, style, job));
  if (!telemetry.any) return {};
  if (!no_trace) console.answer("\n");
  console.answer(report::telemetry_text(telemetry.log, told.power, style));
  if (kept) answer_parts({report::beside_prediction_text(*kept, style)}, console);
  if (no_trace) answer_parts({job, report::findings_text(told.summary.findings, style)}, console);
  return {};
}

Flag files_at_a_time() {
  Flag flag = threads_flag();
  flag.help = "files at a time; by default one a processor";
  return flag;
}

Flag repair_flag() {
  return option("repair", "", "input",
                "put right what CharLLM-PPT's files are known to have wrong: counters of which 32 "
                "bits were kept, memory in use, swapped labels");
}

Flag sample_period_flag() {
  return option(
      "sample-period", "TIME", "input",
      "how far rows are apart where a file does not say when they were read (dmon without "
      "-o DT); by default 1 s, as dmon's");
}

Result<void> read_sample_period(const Arguments& arguments, importer::TelemetryOptions& options) {
  if (!arguments.has("sample-period")) return {};
  constexpr double kShortest = 1e-6, kLongest = 86400;
  const auto measure = base::parse_measure(arguments.value("sample-period"));
  if (!measure || (measure->unit != "s" && !measure->unit.empty()) ||
      !(measure->value >= kShortest && measure->value <= kLongest))
    return input_error(
        "--sample-period: found '{}', allowed: a time from 1 us to 86400 s, such as "
        "0.5, 500 ms or 10 s",
        arguments.value("sample-period"));
  options.sample_period_s = measure->value;
  options.sample_period_said = true;
  return {};
}

Result<importer::TelemetryOptions> telemetry_options(const Arguments& arguments) {
  importer::TelemetryOptions options{.repair = arguments.has("repair")};
  ERGOMETER_TRY(read_sample_period(arguments, options));
  ERGOMETER_ASSIGN(options.nvlink_links,
                   whole_number(arguments, "nvlink-links", options.nvlink_links, 1, 1024));
  return options;
}

Result<importer::Recorded> read_files(const std::vector<std::string>& paths,
                                      const Arguments& arguments, const Console& console,
                                      bool dumps) {
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(importer::TelemetryOptions options, telemetry_options(arguments));
  options.dumps = dumps;
  ERGOMETER_ASSIGN(importer::Recorded recorded, importer::read_recorded(paths, options, threads));
  note_truncated(recorded.traces.ranks, console);
  return recorded;
}

}  // namespace

std::vector<Flag> analyze_flags() {
  return {
      option("steps", "all|N..M", "input",
             "only what was launched in these training steps (ProfilerStep#N), both ends among "
             "them; by default whole files"),
      option("classes", "name|study", "output",
             "how kernels are put into classes: by what their names tell, or as the CharLLM-PPT "
             "study did")
          .one_of({"name", "study"}),
      repair_flag(),
      option("nvlink-links", "N", "input",
             "estimate NVLink traffic as N times that of link 0, where a file has no more "
             "(CharLLM-PPT; 18 on H100 and H200)"),
      sample_period_flag(),
      option("groups", "FILE.yaml", "input",
             "sizes of the parallel groups of a timeline of operations (dp_size, pp_size, tp_size, "
             "vpp_size); by default the file of its name beside it"),
      files_at_a_time(),
      option("against", "JOB", "output",
             "hold what was recorded to what is predicted of this job file or simulated Run, as "
             "compare --predicted does"),
      option("report", "FILE.html", "output", "write it as a page that needs no network"),
  };
}

/// --against: the recording beside what is predicted of a job, as `compare --predicted` has it.
Result<int> hold_to_prediction(const Arguments& arguments, const Console& console) {
  if (arguments.words.size() > 1)
    return input_error("--against: found {} files, allowed: one, a Run or a folder",
                       arguments.words.size());
  Arguments asked = arguments;
  asked.flags["predicted"] = arguments.value("against");
  return run_compare(asked, console);
}

Result<int> run_analyze(const Arguments& arguments, const Console& console) {
  if (arguments.has("against")) return hold_to_prediction(arguments, console);
  ERGOMETER_ASSIGN(auto simulated, simulated_run(arguments.words));
  if (simulated) {
    ERGOMETER_ASSIGN(const int status, analyze_simulated(*simulated, arguments, console));
    if (arguments.has("report"))
      ERGOMETER_TRY(write_page(std::move(*simulated), arguments, console));
    return status;
  }
  ERGOMETER_ASSIGN(auto operations, operations_of(arguments));
  if (operations) return analyze_operations(*std::move(operations), arguments, console);
  ERGOMETER_ASSIGN(importer::Recorded recorded,
                   read_files(arguments.words, arguments, console, true));
  if (arguments.has("groups"))
    return input_error(
        "--groups: found no timeline of operations, allowed: with one, and no file beside it");
  ERGOMETER_TRY(analyze_files(recorded, arguments, console));
  if (!arguments.has("report")) return 0;
  ERGOMETER_ASSIGN(run::Run run, as_run(std::move(recorded), arguments));
  ERGOMETER_TRY(write_page(std::move(run), arguments, console));
  return 0;
}

std::vector<Flag> import_flags() {
  return {option("out", "FILE", "output", "the Run file to write").shortened("o"), repair_flag(),
          sample_period_flag(), files_at_a_time()};
}

Result<run::Run> read_recorded(const std::vector<std::string>& paths, const Arguments& arguments,
                               const Console& console) {
  ERGOMETER_ASSIGN(importer::Recorded recorded, read_files(paths, arguments, console, false));
  run::Run run = make_run(std::move(recorded));
  for (const std::string& note : run.log.notes) console.note(note);
  return run;
}

Result<int> run_import(const Arguments& arguments, const Console& console) {
  const std::string out = arguments.value("out");
  if (out.empty())
    return input_error("import: --out FILE is missing; usage: ergometer import FILE... --out FILE");
  ERGOMETER_ASSIGN(const run::Run run, read_recorded(arguments.words, arguments, console));
  ERGOMETER_TRY(run::write_run(run, out));
  console.answer(arguments.has("json") ? report::import_json(run, out)
                                       : report::import_text(run, out));
  return 0;
}

}  // namespace ergometer::cli
