#include "calibration/calibrate.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/collection.h"
#include "calibration/folds.h"

namespace ergometer::calibration {
namespace {

using validation::ErrorStatistics;
using validation::ScoredRow;

constexpr size_t kFewestGroups = 2;
/// A slope that counts as use: a tenth more of the parameter moves the step by 0.05 %.
constexpr double kNoticeable = 0.005;

/// Rows and groups whose step time each parameter moves, and which parameters move too few to be
/// fitted; those lose their slopes.
std::vector<FittedValue> count_uses(const std::vector<Sample>& samples, size_t parameters,
                                    Linearised& at) {
  std::vector<FittedValue> values(parameters);
  std::vector<std::set<std::string>> groups(parameters);
  for (size_t i = 0; i < samples.size(); ++i)
    for (const Slope& slope : at.slopes[i]) {
      if (std::abs(slope.value) < kNoticeable) continue;
      ++values[slope.parameter].rows;
      groups[slope.parameter].insert(samples[i].group);
    }
  for (size_t j = 0; j < parameters; ++j) {
    values[j].groups = static_cast<int64_t>(groups[j].size());
    values[j].held = groups[j].size() < kFewestGroups;
  }
  for (std::vector<Slope>& slopes : at.slopes)
    std::erase_if(slopes, [&](const Slope& slope) { return values[slope.parameter].held; });
  return values;
}

Problem make_problem(const ParameterList& list, const std::vector<Sample>& samples,
                     const std::vector<bool>& held) {
  Problem problem;
  problem.noise = list.noise;
  problem.freedom = list.freedom;
  for (const Sample& sample : samples) problem.weights.push_back(sample.weight);
  for (size_t j = 0; j < list.parameters.size(); ++j) {
    const FittedParameter& it = list.parameters[j];
    problem.bounds.push_back({it.sigma, held[j] ? 0 : it.lower, held[j] ? 0 : it.upper});
  }
  return problem;
}

/// The problem without the rows of which `left_out` says so.
template <class LeftOut>
Problem without(const Problem& problem, const LeftOut& left_out) {
  Problem part = problem;
  for (size_t i = 0; i < part.weights.size(); ++i)
    if (left_out(i)) part.weights[i] = 0;
  return part;
}

ScoredRow scored(const Sample& sample, double predicted_s) {
  ScoredRow row;
  row.id = sample.id;
  row.group = sample.group;
  row.quantity = "step_time_s";
  row.measured = sample.measured_s;
  row.predicted = predicted_s;
  row.error_pct = 100 * (predicted_s / sample.measured_s - 1);
  return row;
}

ErrorStatistics statistics(const std::vector<ScoredRow>& rows) {
  return validation::error_statistics(base::pointers_to(rows));
}

ErrorStatistics statistics(const std::vector<Sample>& samples, const std::vector<double>& residuals,
                           const std::vector<size_t>& which) {
  return statistics(base::mapped(which, [&](size_t i) {
    return scored(samples[i], samples[i].measured_s * std::exp(residuals[i]));
  }));
}

/// Of the rows that could be predicted without their source.
ErrorStatistics left_out_statistics(const Calibration& result, const std::vector<size_t>& which) {
  std::vector<ScoredRow> rows;
  for (const size_t i : which) {
    const auto& found = result.rows[i].left_out;
    if (!found) continue;
    rows.push_back(scored(result.samples.rows[i], found->predicted_s));
    rows.back().low = found->low_s;
    rows.back().high = found->high_s;
  }
  return statistics(rows);
}

/// Holds parameters that move fewer than two groups of the rows left where their priors are, as a
/// fit to these rows alone would.
void hold_undecided(const std::vector<Sample>& samples, const Linearised& at, Problem& problem) {
  std::vector<std::set<std::string>> groups(problem.bounds.size());
  for (size_t i = 0; i < samples.size(); ++i)
    for (const Slope& slope : at.slopes[i])
      if (problem.weights[i] > 0 && std::abs(slope.value) >= kNoticeable)
        groups[slope.parameter].insert(samples[i].group);
  for (size_t j = 0; j < groups.size(); ++j)
    if (groups[j].size() < kFewestGroups) problem.bounds[j].lower = problem.bounds[j].upper = 0;
}

/// One calibration at work: the problem, its optimum, and refits without some of the rows.
class Calibrator {
 public:
  Calibrator(const ParameterList& list, const Options& options, const Watcher& watcher,
             Calibration& result)
      : list_(list),
        options_(options),
        watcher_(watcher),
        result_(result),
        objective_(result.samples.rows, list, options.threads, watcher) {}

  void run();

 private:
  void fit_all();
  void cross_validate();
  void leave_out_sources();
  /// Residuals of the rows of which `left_out` says so, by the fit to the others.
  template <class LeftOut>
  void predict_left_out(const LeftOut& left_out, std::vector<double>& residuals) const;
  const std::vector<Sample>& samples() const { return result_.samples.rows; }

  const ParameterList& list_;
  const Options& options_;
  const Watcher& watcher_;
  Calibration& result_;
  Objective objective_;
  Problem problem_;
  Fit fit_;
};

void Calibrator::run() {
  fit_all();
  result_.rows.resize(samples().size());
  for (size_t i = 0; i < samples().size(); ++i)
    result_.rows[i].fitted_s = samples()[i].measured_s * std::exp(fit_.at.residuals[i]);
  std::vector<size_t> all(samples().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  result_.prior = statistics(samples(), fit_.start_residuals, all);
  result_.fitted = statistics(samples(), fit_.at.residuals, all);
  cross_validate();
  if (options_.leave_out_source) leave_out_sources();
}

void Calibrator::fit_all() {
  const std::vector<double> priors(list_.parameters.size(), 0);
  problem_ = make_problem(list_, samples(), std::vector<bool>(priors.size(), false));
  Linearised first =
      objective_.linearise(priors, problem_.weights, std::vector<bool>(priors.size(), false));
  result_.values = count_uses(samples(), priors.size(), first);
  const std::vector<bool> held = base::mapped(result_.values, &FittedValue::held);
  problem_ = make_problem(list_, samples(), held);
  problem_.residuals = [this](std::span<const double> x) {
    return objective_.residuals(x, problem_.weights);
  };
  problem_.linearise = [this, held, first = std::move(first),
                        begun = false](std::span<const double> x) mutable {
    if (!std::exchange(begun, true)) return std::move(first);
    return objective_.linearise(x, problem_.weights, held);
  };
  problem_.progress = [this](int round, double cost) {
    if (watcher_.say) watcher_.say(fmt::format("round {}: cost {:.2f}", round, cost));
  };
  fit_ = fit(problem_, priors, options_.iterations);
  result_.iterations = fit_.iterations;
  result_.converged = fit_.converged;

  const std::vector<double> errors = standard_errors(problem_, fit_.at);
  for (size_t j = 0; j < errors.size(); ++j) {
    FittedValue& value = result_.values[j];
    const Bounds& bounds = problem_.bounds[j];
    value.x = fit_.x[j];
    value.standard_error = errors[j];
    value.determined = errors[j] / bounds.sigma;
    value.at_bound = !value.held && (value.x <= bounds.lower || value.x >= bounds.upper);
  }
}

template <class LeftOut>
void Calibrator::predict_left_out(const LeftOut& left_out, std::vector<double>& residuals) const {
  const std::vector<double> x = solve_linearised(without(problem_, left_out), fit_.at, 0);
  std::vector<double> rows(samples().size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = left_out(i) ? 1 : 0;
  const std::vector<double> found = objective_.residuals(x, rows);
  for (size_t i = 0; i < rows.size(); ++i)
    if (left_out(i)) residuals[i] = found[i];
}

void Calibrator::cross_validate() {
  const std::vector<size_t> folds = assign_folds(samples(), options_.folds);
  std::vector<double> residuals(samples().size(), 0);
  for (size_t fold = 0; fold < options_.folds; ++fold)
    predict_left_out([&](size_t i) { return folds[i] == fold; }, residuals);
  std::vector<size_t> all;
  for (size_t i = 0; i < samples().size(); ++i) {
    result_.rows[i].fold = folds[i];
    result_.rows[i].cross_validated_s = samples()[i].measured_s * std::exp(residuals[i]);
    all.push_back(i);
  }
  result_.cross_validated = statistics(samples(), residuals, all);
}

void Calibrator::leave_out_sources() {
  std::map<std::string, std::vector<size_t>> sources;
  for (size_t i = 0; i < samples().size(); ++i) sources[samples()[i].source].push_back(i);
  std::vector<size_t> all;
  for (const auto& [source, rows] : sources) {
    Problem others = without(problem_, [&](size_t i) { return samples()[i].source == source; });
    hold_undecided(samples(), fit_.at, others);
    const std::vector<double> x = solve_linearised(others, fit_.at, 0);
    const auto found = predict_without(samples(), list_, x, source, options_.threads, watcher_);
    for (const size_t i : rows) result_.rows[i].left_out = found[i];
    result_.left_out.push_back({source, statistics(samples(), fit_.at.residuals, rows),
                                left_out_statistics(result_, rows)});
    all.insert(all.end(), rows.begin(), rows.end());
  }
  result_.all_left_out = left_out_statistics(result_, all);
}

}  // namespace

Result<Calibration> calibrate(const std::vector<validation::MeasuredRun>& runs,
                              const ParameterList& list, const Options& options,
                              const Watcher& watcher) {
  Calibration result;
  result.samples = make_samples(runs, list, options.threads, watcher);
  if (result.samples.rows.empty())
    return input_error("calibrate: none of the rows can be predicted and has a step time");
  Calibrator(list, options, watcher, result).run();
  return result;
}

}  // namespace ergometer::calibration
