#include "cli/job/recorded_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "page/differences.h"
#include "report/summary/job_json.h"
#include "run/file/prediction.h"
#include "run/run.h"

namespace ergometer::cli {
namespace {

/// Whether a difference of two jobs makes them different work: what they train, on how many GPUs
/// and how it is divided among them.
bool is_of_work(const page::Difference& difference) {
  const std::string& name = difference.name;
  const bool told = std::ranges::none_of(difference.values, &std::string::empty);
  return told && (name.starts_with("parallelism.") || name.starts_with("training.") ||
                  name.starts_with("model.") || name == "cluster.gpus");
}

/// A fit to another job than the recorded one would blame the cluster for what differs.
Result<void> check_same_job(const std::string& who, const std::string& path,
                            const std::string& job_json, const spec::Job& job) {
  if (job_json.empty()) return {};
  constexpr size_t kMostNamed = 6;
  std::vector<std::string> named;
  for (const page::Difference& it : page::differences({job_json, report::job_json(job)}))
    if (is_of_work(it) && named.size() < kMostNamed)
      named.push_back(fmt::format("{} {} there, {} here", it.name, it.values[0], it.values[1]));
  if (named.empty()) return {};
  return input_error(
      "{}: {}: found a recording of another job: {}; allowed: the job that was recorded", who, path,
      fmt::join(named, ", "));
}

/// A simulated Run's step as a training log of it.
Result<void> add_simulated_steps(const std::string& who, const std::string& path,
                                 const spec::Job& job, run::DeviceLog& log) {
  ERGOMETER_ASSIGN(const bool is_run, run::is_run_file(path));
  if (!is_run) return {};
  ERGOMETER_ASSIGN(const run::Run run, run::read_run(path));
  ERGOMETER_TRY(check_same_job(who, path, run.job_json, job));
  if (run.source != "simulated" || run.performance.step_time_s <= 0) return {};
  run::TrainingLog& steps = log.training.emplace_back();
  steps.file = path;
  steps.steps = {{.number = 1, .seconds = run.performance.step_time_s}};
  return {};
}

}  // namespace

Result<void> check_growing_job(const std::string& path, const spec::Job& job) {
  ERGOMETER_TRY(check_same_job("--from", path, run::read_fact(path, "job"), job));
  const auto predicted = run::parse_prediction(run::read_fact(path, run::kPredictionFact));
  if (!predicted || predicted->gpus == job.gpus) return {};
  return input_error(
      "--from: {}: found a recording of another job: {}, predicted for {} GPUs; allowed: the job "
      "that is recorded, here of {} GPUs",
      path, predicted->job, predicted->gpus, job.gpus);
}

Result<importer::Recorded> read_recorded_job(const Arguments& arguments, const spec::Job& job,
                                             size_t threads) {
  const std::vector<std::string> paths = base::split(arguments.value("from"), ',');
  ERGOMETER_ASSIGN(importer::Recorded recorded, importer::read_recorded(paths, {}, threads));
  for (const std::string& path : paths)
    ERGOMETER_TRY(add_simulated_steps("--from", path, job, recorded.telemetry.log));
  return recorded;
}

}  // namespace ergometer::cli
