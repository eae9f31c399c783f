#include "cli/predict/calibrate_twin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/output_file.h"
#include "base/text.h"
#include "calibration/twin/twin_output.h"
#include "cli/console/threads.h"
#include "cli/console/whole_number.h"
#include "cli/job/job_settings.h"
#include "cli/job/settled_job.h"
#include "import/import.h"
#include "page/differences.h"
#include "report/summary/job_json.h"
#include "run/run.h"

namespace ergometer::cli {
namespace {

using calibration::twin::Recording;

/// Whether a difference of two jobs makes them different work: what they train, on how many GPUs
/// and how it is divided among them.
bool is_of_work(const page::Difference& difference) {
  const std::string& name = difference.name;
  const bool told = std::ranges::none_of(difference.values, &std::string::empty);
  return told && (name.starts_with("parallelism.") || name.starts_with("training.") ||
                  name.starts_with("model.") || name == "cluster.gpus");
}

/// A fit to another job than the recorded one would blame the cluster for what differs.
Result<void> check_same_job(const std::string& path, const run::Run& run, const spec::Job& job) {
  if (run.job_json.empty()) return {};
  constexpr size_t kMostNamed = 6;
  std::vector<std::string> named;
  for (const page::Difference& it : page::differences({run.job_json, report::job_json(job)}))
    if (is_of_work(it) && named.size() < kMostNamed)
      named.push_back(fmt::format("{} {} there, {} here", it.name, it.values[0], it.values[1]));
  if (named.empty()) return {};
  return input_error(
      "calibrate: {}: found a recording of another job: {}; allowed: the job that was "
      "recorded",
      path, fmt::join(named, ", "));
}

/// A simulated Run's step as a training log of it.
Result<void> add_simulated_steps(const std::string& path, const spec::Job& job,
                                 run::DeviceLog& log) {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (!is_run) return {};
  ERGOMETER_ASSIGN(const run::Run run, run::read_run(path));
  ERGOMETER_TRY(check_same_job(path, run, job));
  if (run.source != "simulated" || run.performance.step_time_s <= 0) return {};
  run::TrainingLog& steps = log.training.emplace_back();
  steps.file = path;
  steps.steps = {{.number = 1, .seconds = run.performance.step_time_s}};
  return {};
}

Result<Recording> read_recording(const Arguments& arguments, const spec::Job& job, size_t threads) {
  const std::vector<std::string> paths = base::split(arguments.value("from"), ',');
  ERGOMETER_ASSIGN(importer::Recorded recorded, importer::read_recorded(paths, {}, threads));
  for (const std::string& path : paths)
    ERGOMETER_TRY(add_simulated_steps(path, job, recorded.telemetry.log));
  ERGOMETER_ASSIGN(const int64_t steps, whole_number(arguments, "trace-steps", 0, 1, 1'000'000));
  return calibration::twin::recording_of(recorded.traces.ranks, recorded.telemetry.log,
                                         arguments.value("from"), steps);
}

Result<void> write_twin(const Arguments& arguments, const calibration::twin::Twin& twin,
                        const spec::Settings& job, const Console& console) {
  const std::filesystem::path out = arguments.value("out");
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) return input_error("--out {}: cannot be made: {}", out.string(), error.message());
  const std::string cluster = (out / "cluster.yaml").string();
  ERGOMETER_TRY(base::write_file_atomically(
      cluster, cluster_file(twin, job.find("cluster")->text,
                            std::filesystem::path(arguments.value("from")).filename().string())));
  ERGOMETER_TRY(base::write_file_atomically((out / "twin.json").string(), to_json(twin)));
  console.note("ergometer simulate {} --cluster {}",
               arguments.words.empty() ? "JOB" : arguments.words.front(), cluster);
  return {};
}

}  // namespace

Result<int> run_calibrate_twin(const Arguments& arguments, const Console& console) {
  for (const char* other :
       {"truth", "device", "catalog", "parameters", "folds", "rounds", "leave-out", "dry-run"})
    if (arguments.has(other))
      return input_error("calibrate: --{} stands beside --from; give one of them", other);
  if (!names_job(arguments))
    return input_error(
        "calibrate: --from needs the job that was recorded; usage: ergometer calibrate --from "
        "recorded.run job.yaml --out twin");
  ERGOMETER_ASSIGN(const size_t threads, thread_count(arguments));
  ERGOMETER_ASSIGN(const spec::Settings given, gather_settings(arguments, console));
  ERGOMETER_ASSIGN(const spec::Settings settings, settled_job(given));
  ERGOMETER_ASSIGN(const spec::Job job, spec::resolve(settings));
  ERGOMETER_ASSIGN(const Recording recording, read_recording(arguments, job, threads));
  ERGOMETER_ASSIGN(const calibration::twin::Twin twin,
                   calibration::twin::fit_twin(recording, job, threads));
  console.answer(arguments.has("json") ? to_json(twin) : to_text(twin));
  if (arguments.has("out")) ERGOMETER_TRY(write_twin(arguments, twin, settings, console));
  return 0;
}

}  // namespace ergometer::cli
