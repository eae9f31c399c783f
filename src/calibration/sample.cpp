#include "calibration/sample.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/parallel.h"
#include "engine/prepared.h"
#include "validation/rows/measurement.h"
#include "validation/rows/run_job.h"

namespace ergometer::calibration {
namespace {

using validation::MeasuredRun;

/// Relative step of the differences: well above the thousandth to which contention settles.
constexpr double kRelativeStep = 0.02;

enum class Fate : uint8_t { kUsed, kTierC, kSource, kRefused, kWithoutTime };
struct Candidate {
  Fate fate = Fate::kRefused;
  Sample sample;
};

Candidate candidate(const MeasuredRun& run, const ParameterList& list) {
  if (run.cell("tier") == "C") return {Fate::kTierC, {}};
  const bool left_out =
      !list.leave_out.empty() && run.cell("source").find(list.leave_out) != std::string_view::npos;
  if (left_out) return {Fate::kSource, {}};
  auto made = validation::make_job(run);
  if (!made) return {Fate::kRefused, {}};
  const validation::Measurement measured = validation::measurement(run, made->job);
  if (!measured.step_time_s || *measured.step_time_s <= 0) return {Fate::kWithoutTime, {}};
  if (!measured.contradiction.empty()) return {Fate::kRefused, {}};
  Candidate result{Fate::kUsed, {}};
  Sample& sample = result.sample;
  sample.id = run.cell("id");
  sample.group = run.cell("group").empty() ? run.cell("id") : run.cell("group");
  sample.source = run.cell("source");
  sample.measured_s = *measured.step_time_s;
  sample.job = std::move(made->job);
  sample.job.origins.clear();  // nothing here explains
  sample.series = sample.job.model.name + '|' + sample.job.cluster.node.gpu.name;
  sample.parameters = parameters_used(list, sample.job);
  if (!engine::Prepared(sample.job).step_time_s(sample.job)) return {Fate::kRefused, {}};
  return result;
}

/// Takes evenly spread rows of every group, in the order of the files, and gives them weights.
void keep_samples(std::vector<Candidate>& candidates, int64_t limit, Samples& samples) {
  std::map<std::string, int64_t> sizes, seen, kept;
  for (const Candidate& it : candidates)
    if (it.fate == Fate::kUsed) ++sizes[it.sample.group];
  for (Candidate& it : candidates) {
    if (it.fate != Fate::kUsed) continue;
    const int64_t stride = (sizes[it.sample.group] + limit - 1) / limit;
    if (seen[it.sample.group]++ % stride != 0) {
      ++samples.thinned;
      continue;
    }
    ++kept[it.sample.group];
    samples.rows.push_back(std::move(it.sample));
  }
  for (Sample& sample : samples.rows) sample.weight = 1.0 / static_cast<double>(kept[sample.group]);
}

/// A sample's job at one x after another. The plan is kept from x to x but where a parameter moves
/// that stands in it.
class Pricer {
 public:
  Pricer(const Sample& sample, const ParameterList& list, std::span<const double> x)
      : sample_(sample), list_(list), job_(sample.job) {
    apply(list, x, sample.parameters, job_);
    prepared_.emplace(job_);
  }

  /// Where `x` is the constructor's but for parameters that do not stand in the plan.
  std::optional<double> step_time_s(std::span<const double> x) {
    apply(list_, x, sample_.parameters, job_);
    return checked(prepared_->step_time_s(job_));
  }
  /// The same, with contention as it settled at the x for which this was first asked.
  std::optional<double> nearby_s(std::span<const double> x) {
    apply(list_, x, sample_.parameters, job_);
    return checked(prepared_->step_time_s(job_, settled_));
  }
  /// At any x.
  std::optional<double> planned_again_s(std::span<const double> x) {
    apply(list_, x, sample_.parameters, job_);
    return checked(engine::Prepared(job_).step_time_s(job_));
  }

 private:
  static std::optional<double> checked(const Result<double>& seconds) {
    if (!seconds || !(*seconds > 0)) return {};
    return *seconds;
  }

  const Sample& sample_;
  const ParameterList& list_;
  spec::Job job_;
  std::optional<engine::Prepared> prepared_;
  std::vector<engine::Stretch> settled_;
};

/// Whether contention must settle anew for a step to see the parameter.
bool moves_contention(const FittedParameter& parameter) {
  return parameter.name.starts_with("overlap.");
}

/// Step time where one parameter is moved.
std::optional<double> moved_step_s(Pricer& pricer, const FittedParameter& parameter,
                                   std::span<const double> moved) {
  if (stands_in_plan(parameter)) return pricer.planned_again_s(moved);
  return moves_contention(parameter) ? pricer.step_time_s(moved) : pricer.nearby_s(moved);
}

}  // namespace

bool stands_in_plan(const FittedParameter& parameter) {
  if (parameter.targets.front().owner != spec::ParameterOwner::kSoftware) return false;
  const std::string& name = parameter.name;
  return name == "step.fixed" || name == "host.shard_slice" || name == "allocator.rate" ||
         name == "data.micro_batch" || name == "optimizer.factor" || name.starts_with("fsdp.") ||
         name == "overlap.expert_share";
}

Samples make_samples(const std::vector<MeasuredRun>& runs, const ParameterList& list,
                     size_t threads, const Watcher& watcher) {
  std::vector<Candidate> candidates(runs.size());
  if (watcher.begin) watcher.begin("read", runs.size());
  base::parallel_for(runs.size(), threads, [&](size_t i) {
    candidates[i] = candidate(runs[i], list);
    if (watcher.advance) watcher.advance();
  });
  Samples samples;
  for (const Candidate& it : candidates) {
    samples.tier_c += it.fate == Fate::kTierC;
    samples.source += it.fate == Fate::kSource;
    samples.refused += it.fate == Fate::kRefused;
    samples.without_time += it.fate == Fate::kWithoutTime;
  }
  keep_samples(candidates, list.rows_per_group, samples);
  return samples;
}

std::vector<double> Objective::residuals(std::span<const double> x,
                                         std::span<const double> rows) const {
  std::vector<double> residuals(samples_.size(), 0);
  if (watcher_.begin) watcher_.begin("evaluate", samples_.size());
  base::parallel_for(samples_.size(), threads_, [&](size_t i) {
    if (watcher_.advance) watcher_.advance();
    if (rows[i] <= 0) return;
    if (const auto seconds = Pricer(samples_[i], list_, x).step_time_s(x))
      residuals[i] = std::log(*seconds / samples_[i].measured_s);
  });
  return residuals;
}

Linearised Objective::linearise(std::span<const double> x, std::span<const double> rows,
                                const std::vector<bool>& held) const {
  Linearised result{{x.begin(), x.end()},
                    std::vector<double>(samples_.size(), 0),
                    std::vector<std::vector<Slope>>(samples_.size())};
  if (watcher_.begin) watcher_.begin("linearise", samples_.size());
  base::parallel_for(samples_.size(), threads_, [&](size_t i) {
    if (watcher_.advance) watcher_.advance();
    if (rows[i] <= 0) return;
    const Sample& sample = samples_[i];
    Pricer pricer(sample, list_, x);
    const auto base_s = pricer.nearby_s(x);
    if (!base_s) return;
    result.residuals[i] = std::log(*base_s / sample.measured_s);
    std::vector<double> moved(x.begin(), x.end());
    for (const size_t j : sample.parameters) {
      if (held[j]) continue;
      const double step =
          x[j] + kRelativeStep <= list_.parameters[j].upper ? kRelativeStep : -kRelativeStep;
      moved[j] = x[j] + step;
      const auto moved_s = moved_step_s(pricer, list_.parameters[j], moved);
      moved[j] = x[j];
      if (moved_s && *moved_s != *base_s)
        result.slopes[i].push_back({j, std::log(*moved_s / *base_s) / step});
    }
  });
  return result;
}

}  // namespace ergometer::calibration
