#include "study/predict.h"

#include "base/parallel.h"
#include "engine/simulate.h"
#include "report/summary/job_json.h"
#include "report/summary/summary_json.h"
#include "run/study_values.h"

namespace ergometer::study {
run::StudyPoint described(const Point& point) {
  run::StudyPoint result;
  result.id = point.id;
  result.family = point.family;
  result.axes = point.axes;
  result.notes = point.notes;
  for (const auto& [name, value] : point.settings.all()) result.settings[name] = value.text;
  return result;
}

run::StudyPoint predict(const Point& point) { return predict(point, nullptr, nullptr); }

run::StudyPoint predict(const Point& point, spec::Job* resolved, run::Run* simulated) {
  run::StudyPoint result = described(point);
  const auto refused = [&](std::string reason) {
    result.reason = std::move(reason);
    return result;
  };
  if (point.refusal) return refused(*point.refusal);
  auto job = spec::resolve(point.settings);
  if (!job) return refused(job.error().message);
  auto run = engine::simulate(*job, {});
  if (!run) return refused(run.error().message);
  run->job_json = report::job_json(*job);
  result.status = run->memory.fits ? run::PointStatus::kOk : run::PointStatus::kDoesNotFit;
  result.reason = run->memory.advice;
  result.summary_json = report::summary_json(*run, false);
  result.values = run::study_values(result.summary_json);
  if (resolved != nullptr) *resolved = *std::move(job);
  if (simulated != nullptr) *simulated = *std::move(run);
  return result;
}

std::vector<run::StudyPoint> predict(const std::vector<Point>& points, size_t threads) {
  std::vector<run::StudyPoint> results(points.size());
  base::parallel_for(points.size(), threads, [&](size_t i) { results[i] = predict(points[i]); });
  return results;
}

}  // namespace ergometer::study
