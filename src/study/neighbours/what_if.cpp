#include "study/neighbours/what_if.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "compare/counterfactual.h"
#include "engine/simulate.h"
#include "spec/settings/setting_values.h"

namespace ergometer::study {
namespace {

/// What tells a job from its neighbours: its settings, after everything was filled in.
std::string key_of(const spec::Job& job) {
  std::string key;
  for (const spec::SettingInfo& setting : spec::setting_table())
    key += spec::setting_value(setting.name, job) + '\n';
  return key;
}

/// What comparisons ask of a Run.
run::Run numbers_of(const run::Run& run) {
  run::Run numbers;
  numbers.performance = run.performance;
  numbers.memory = run.memory;
  numbers.power = run.power;
  numbers.thermal = run.thermal;
  numbers.links = run.links;
  numbers.has_power = run.has_power;
  return numbers;
}

/// A neighbour and how its step went.
struct PlayedPoint {
  run::StudyPoint point;
  std::string key;
  run::Run numbers;
  int64_t replicas = 0;
};

PlayedPoint play(const Point& point) {
  PlayedPoint played;
  run::Run run;
  spec::Job job;
  played.point = predict(point, &job, &run);
  if (played.point.status == run::PointStatus::kRefused) return played;
  played.key = key_of(job);
  played.numbers = numbers_of(run);
  played.replicas = job.parallelism.dp;
  return played;
}

std::vector<PlayedPoint> play_all(const std::vector<Point>& points, const WhatIfOptions& options) {
  std::vector<PlayedPoint> played(points.size());
  std::mutex mutex;
  int64_t done = 0;
  base::parallel_for(points.size(), options.threads, [&](size_t i) {
    played[i] = play(points[i]);
    const std::lock_guard lock(mutex);
    if (options.progress) options.progress(++done, static_cast<int64_t>(points.size()));
  });
  return played;
}

/// Compares jobs by Runs that are there.
class Explainer {
 public:
  Explainer(const Neighbours& neighbours, const std::vector<PlayedPoint>& played)
      : neighbours_(neighbours) {
    for (const PlayedPoint& one : played)
      if (!one.key.empty()) known_.emplace(one.key, &one.numbers);
  }

  /// What `compare` says of the job and a neighbour of it.
  Result<compare::Comparison> operator()(size_t i, const std::string& name) const {
    const Point &a = neighbours_.points[neighbours_.job], &b = neighbours_.points[i];
    ERGOMETER_ASSIGN(const compare::JobPair pair, compare::JobPair::make(a.settings, b.settings));
    ERGOMETER_ASSIGN(compare::Comparison comparison,
                     compare::compare_jobs(
                         pair, {.simulate = [&](const spec::Job& job) { return run_of(job); }}));
    comparison.a = name;
    comparison.b = b.id;
    return comparison;
  }

 private:
  Result<run::Run> run_of(const spec::Job& job) const {
    const auto known = known_.find(key_of(job));
    if (known != known_.end()) return *known->second;
    return engine::simulate(job, {.intervals = false});
  }

  const Neighbours& neighbours_;
  std::map<std::string, const run::Run*> known_;
};

}  // namespace

Result<WhatIf> what_if(const Neighbours& neighbours, const std::string& name,
                       const WhatIfOptions& options) {
  std::vector<PlayedPoint> played = play_all(neighbours.points, options);
  const PlayedPoint& job = played[neighbours.job];
  if (job.key.empty()) return input_error(job.point.reason);
  const Explainer explain(neighbours, played);
  std::vector<std::optional<compare::Comparison>> comparisons(played.size());
  base::parallel_for(played.size(), options.threads, [&](size_t i) {
    if (i == neighbours.job || played[i].key.empty()) return;
    if (auto found = explain(i, name)) comparisons[i] = *std::move(found);
  });
  WhatIf answer{neighbours.ladders, {}, {}, {}, {}, 0};
  for (size_t i = 0; i < played.size(); ++i) {
    if (played[i].key.empty()) continue;
    if (i == neighbours.job) answer.job = answer.points.size();
    answer.at.push_back(neighbours.at[i]);
    answer.points.push_back(std::move(played[i].point));
    answer.replicas.push_back(played[i].replicas);
    answer.comparisons.push_back(std::move(comparisons[i]));
  }
  return answer;
}

}  // namespace ergometer::study
