#include "launch/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "analysis/merge_runs.h"
#include "analysis/telemetry/telemetry.h"
#include "base/file.h"
#include "base/parallel.h"
#include "compare/measured.h"
#include "import/telemetry/telemetry.h"
#include "run/run.h"

namespace ergometer::launch {
namespace {

namespace fs = std::filesystem;

/// The files of an attempt that end so, in the order of their nodes.
std::vector<std::string> files_of(const std::string& attempt, std::string_view ending) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(attempt, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("node-") && name.ends_with(ending)) files.push_back(at->path().string());
  }
  std::ranges::sort(files, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return files;
}

int64_t count_attempts(const std::string& folder) {
  int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    ++count;
  return count;
}

/// The attempt that finished, by the name in the file `finished`; empty: none did.
std::string finished_attempt(const std::string& folder) {
  constexpr size_t kMostBytes = 4096;
  const auto text = base::read_file(folder + "/finished", kMostBytes);
  if (!text) return "";
  const std::string name = text->substr(0, text->find_first_of("\r\n"));
  return name.empty() || name.find('/') != std::string::npos || name.starts_with('.') ? "" : name;
}

run::Run without_recordings() {
  run::Run run;
  run.source = "imported";
  return run;
}

/// One Run of all that the nodes recorded; empty where they did not or do not go together.
run::Run joined(const std::vector<std::string>& recordings, RunResult& result) {
  std::vector<analysis::RunPart> parts;
  for (const std::string& file : recordings) {
    auto run = run::read_run(file);
    if (!run) {
      result.notes.push_back(run.error().message);
      continue;
    }
    parts.push_back({file, *std::move(run)});
  }
  result.recordings = static_cast<int64_t>(parts.size());
  if (parts.empty()) return without_recordings();
  auto merged = analysis::merge_runs(std::move(parts), "");
  if (!merged) {
    result.notes.push_back("recordings are left out: " + merged.error().message);
    return without_recordings();
  }
  for (std::string& note : merged->notes) result.notes.push_back(std::move(note));
  return std::move(merged->run);
}

void add_logs(const std::vector<std::string>& logs, run::Run& run, RunResult& result) {
  for (const std::string& file : logs) {
    const auto read = importer::read_training_log(file);
    if (!read) {
      result.notes.push_back(read.error().message);
      continue;
    }
    for (const run::TrainingLog& training : read->training)
      if (!training.steps.empty()) run.log.training.push_back(training);
  }
}

/// What is known of both sides, as `ergometer compare --predicted` has it.
void hold_against(const run::Run& predicted, const run::Run& measured, const std::string& name,
                  RunResult& result) {
  const auto recorded = compare::measure({}, measured.log, name);
  if (!recorded) return result.notes.push_back(recorded.error().message);
  const auto comparison =
      compare::compare_measured(*recorded, compare::measure(predicted, {}, result.run.gpus));
  if (!comparison) return result.notes.push_back(comparison.error().message);
  for (const compare::Quantity& quantity : comparison->quantities)
    if (quantity.name == "step_time_s") result.step_s = quantity.a;
  // Of a log without times, facts are of the whole recording.
  if (!recorded->gpus_w) return;
  for (const compare::Quantity& fact : comparison->facts) {
    if (fact.name == "mean_w_per_gpu") {
      result.gpu_w = fact.a;
      result.gpu_w_error = fact.a_error;
      result.predicted_gpu_w = fact.b;
    }
    if (fact.name == "max_gpu_c") {
      result.max_gpu_c = fact.a;
      result.predicted_max_gpu_c = fact.b;
    }
  }
}

/// How far the training got. Programs that count from 0, and logs whose first line only starts the
/// clock, are one short.
void count_steps(const run::DeviceLog& log, int64_t asked, RunResult& result) {
  int64_t reached = result.steps;
  for (const run::TrainingLog& training : log.training)
    for (const run::TrainingStep& step : training.steps) reached = std::max(reached, step.number);
  result.all_steps = reached >= asked - 1;
  if (!result.all_steps)
    result.notes.push_back(fmt::format(
        "{} of {} steps are in the log: it does not count as measured", reached, asked));
}

Result<void> collect_run(const std::string& folder, int64_t asked, RunResult& result) {
  const std::string path = fmt::format("{}/runs/{}", folder, result.run.name);
  ERGOMETER_ASSIGN(const run::Run predicted, run::read_run(path + "/predicted.run"));
  result.predicted_step_s = predicted.performance.step_time_s;
  result.attempts = count_attempts(path + "/attempts");
  const std::string attempt = finished_attempt(path);
  if (attempt.empty()) {
    result.state = result.attempts > 0 ? RunState::kFailed : RunState::kNotRun;
    return {};
  }
  result.state = RunState::kFinished;
  const std::string at = path + "/attempts/" + attempt;
  run::Run measured = joined(files_of(at, ".run"), result);
  add_logs(files_of(at, ".log"), measured, result);
  if (result.recordings < result.run.nodes)
    result.notes.push_back(
        fmt::format("recordings of {} of {} nodes are there", result.recordings, result.run.nodes));
  const analysis::LoggedSteps logged = analysis::logged_steps(measured.log);
  if (logged.steps == 0) {
    result.notes.push_back(at + ": no training log there tells of steps");
    return {};
  }
  result.steps = logged.steps;
  result.step_low_s = logged.low_s;
  result.step_high_s = logged.high_s;
  count_steps(measured.log, asked, result);
  hold_against(predicted, measured, at, result);
  result.merged = path + "/measured.run";
  return run::write_run(measured, result.merged);
}

JobResult together(const std::string& job, const std::vector<RunResult>& runs) {
  JobResult result;
  result.job = job;
  double sum = 0, squares = 0;
  for (const RunResult& run : runs) {
    if (run.run.job != job) continue;
    ++result.runs;
    result.predicted_step_s = run.predicted_step_s;
    if (!run.measured_in_full()) continue;
    ++result.measured;
    sum += run.step_s;
  }
  if (result.measured == 0) return result;
  const auto n = static_cast<double>(result.measured);
  result.mean_step_s = sum / n;
  for (const RunResult& run : runs)
    if (run.run.job == job && run.measured_in_full())
      squares += (run.step_s - result.mean_step_s) * (run.step_s - result.mean_step_s);
  if (result.measured > 1) result.deviation_s = std::sqrt(squares / (n - 1));
  result.error_pct = 100 * (result.predicted_step_s / result.mean_step_s - 1);
  return result;
}

}  // namespace

Result<Collection> collect(const std::string& folder, size_t threads) {
  Collection collection;
  ERGOMETER_ASSIGN(collection.manifest, read_manifest(folder));
  for (const ManifestRun& run : collection.manifest.runs) collection.runs.emplace_back().run = run;
  std::vector<Result<void>> problems(collection.runs.size());
  base::parallel_for(collection.runs.size(), threads, [&](size_t i) {
    problems[i] = collect_run(folder, collection.manifest.steps, collection.runs[i]);
  });
  for (const Result<void>& problem : problems) ERGOMETER_TRY(problem);
  for (const RunResult& run : collection.runs) {
    const auto known = std::ranges::any_of(
        collection.jobs, [&](const JobResult& job) { return job.job == run.run.job; });
    if (!known) collection.jobs.push_back(together(run.run.job, collection.runs));
  }
  return collection;
}

}  // namespace ergometer::launch
