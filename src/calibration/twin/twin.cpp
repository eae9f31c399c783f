#include "calibration/twin/twin.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "analysis/simulated_traces.h"
#include "base/collection.h"
#include "base/parallel.h"
#include "calibration/calibrate.h"
#include "calibration/least_squares.h"
#include "calibration/twin/form.h"
#include "engine/outcome/evidence_tables.h"
#include "engine/outcome/interval.h"
#include "engine/power/run_phases.h"
#include "engine/simulate.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"

namespace ergometer::calibration::twin {
namespace {

constexpr int kIterations = 12;
constexpr double kFreedom = 4;  ///< as the catalog's own fit (catalog/calibration.yaml)
constexpr double kStep = 0.02;  ///< of differences: well above what contention settles to

spec::Job with_factors(const spec::Job& job, std::span<const double> x) {
  spec::Job moved = job;
  const auto factors = spec::cluster_factors();
  for (size_t j = 0; j < factors.size(); ++j)
    if (x[j] != 0) spec::scale(moved.cluster, factors[j], std::exp(x[j]));
  return moved;
}

struct Predicted {
  Values values;
  Durations durations;
};

/// The same of a prediction as of a recording: kernels of the first rank of every stage as a trace.
Result<Predicted> predict(const spec::Job& job, bool rests) {
  const spec::Parallelism& p = job.parallelism;
  engine::SimulateOptions options{.intervals = false};
  for (int64_t stage = 0; stage < p.pp; ++stage)
    options.sampled_ranks.push_back(stage * job.stage_ranks());
  ERGOMETER_ASSIGN(const run::Run run, engine::simulate(job, options));
  const auto traces = analysis::simulated_traces(run, {p.tp, p.cp, p.dp, p.pp, p.ep, p.etp});
  ERGOMETER_ASSIGN(const compare::Measured measured, compare::measure(traces, {}, job.model.name));
  Predicted predicted{values_of(measured), durations_of(traces)};
  Values& values = predicted.values;
  if (run.has_power) {
    values["power"] = run.power.mean_w_per_gpu;
    values["die"] = run.thermal.mean_gpu_c;
  }
  if (!rests || !run.has_power) return predicted;
  ERGOMETER_ASSIGN(const engine::StandingPower rest, engine::standing_power(job));
  values["rest power"] = rest.gpus_w / static_cast<double>(job.nodes() * job.cluster.node.gpus);
  values["rest die"] = rest.mean_c;
  return predicted;
}

/// The rows that both sides have.
std::vector<Row> rows_of(const Recording& recording, const Values& predicted) {
  std::vector<Row> rows;
  for (const Quantity& quantity : quantities()) {
    const auto a = recording.values.find(quantity.name);
    const auto b = predicted.find(quantity.name);
    if (a == recording.values.end() || b == predicted.end()) continue;
    if (!quantity.absolute && (a->second <= 0 || b->second <= 0)) continue;
    rows.push_back({quantity, a->second, b->second, b->second, noise_of(recording, quantity)});
  }
  return rows;
}

/// In units of its noise; a job that cannot be played is as far off as any.
double residual(const Row& row, const Result<Predicted>& predicted) {
  constexpr double kFarOff = 100;
  if (!predicted) return kFarOff;
  const double value = predicted->values.find(row.quantity.name)->second;
  const double off = row.quantity.absolute ? value - row.recorded : std::log(value / row.recorded);
  return off / row.noise;
}

class Objective {
 public:
  Objective(const spec::Job& job, const std::vector<Row>& rows, size_t threads)
      : job_(job), rows_(rows), threads_(threads) {}

  std::vector<double> residuals(std::span<const double> x) const {
    const auto predicted = predict(with_factors(job_, x), rests());
    return base::mapped(rows_, [&](const Row& row) { return residual(row, predicted); });
  }
  Linearised linearise(std::span<const double> x) const {
    Linearised result{{x.begin(), x.end()}, residuals(x), {}};
    std::vector<std::vector<double>> beside(x.size());
    base::parallel_for(x.size(), threads_, [&](size_t j) {
      std::vector<double> moved(x.begin(), x.end());
      // Down: shares of a peak may stand at 1.
      moved[j] -= kStep;
      beside[j] = residuals(moved);
    });
    result.slopes.resize(rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i)
      for (size_t j = 0; j < x.size(); ++j)
        if (const double slope = (result.residuals[i] - beside[j][i]) / kStep; slope != 0)
          result.slopes[i].push_back({j, slope});
    return result;
  }

 private:
  bool rests() const {
    return std::ranges::any_of(
        rows_, [](const Row& row) { return std::string_view(row.quantity.name) == "rest power"; });
  }
  const spec::Job& job_;
  const std::vector<Row>& rows_;
  size_t threads_;
};

Problem problem_of(const Objective& objective, size_t rows) {
  Problem problem;
  problem.weights.assign(rows, 1);
  problem.noise = 1;
  problem.freedom = kFreedom;
  for (const spec::ClusterFactor& factor : spec::cluster_factors())
    problem.bounds.push_back({factor.sigma, -factor.farthest, factor.farthest});
  problem.residuals = [&](std::span<const double> x) { return objective.residuals(x); };
  problem.linearise = [&](std::span<const double> x) { return objective.linearise(x); };
  return problem;
}

bool has_row(const std::vector<Row>& rows, std::string_view name) {
  return std::ranges::any_of(rows, [&](const Row& row) { return name == row.quantity.name; });
}

/// Why nothing recorded moves with a factor.
std::string unmoved(const spec::ClusterFactor& factor, const spec::Job& job,
                    const std::vector<Row>& rows) {
  if (factor.name == "network") return "the recorded job crosses no link between nodes";
  if (factor.name == "node links") return "the recorded job crosses no link in the node";
  if (factor.name == "grouped") return "the recorded job has no grouped products";
  if (!factor.moves_time && !has_row(rows, "power") && !has_row(rows, "die"))
    return "no telemetry of the job was recorded";
  if (factor.place == spec::FactorPlace::kCooling && !has_row(rows, "die"))
    return "no temperature was recorded";
  return fmt::format("nothing recorded moves with it{}",
                     job.conditions.has_inlet ? ": the job says its inlet" : "");
}

std::string hardly(const std::vector<Row>& rows, const spec::ClusterFactor& factor) {
  if (factor.moves_time && !has_row(rows, "gemm"))
    return "without a trace the step's length tells one factor, not which";
  if (!factor.moves_time && !has_row(rows, "rest power"))
    return "one mean of power and temperature tells sums: nothing shows GPUs at rest";
  return "it moves too little of what was recorded";
}

/// Errors of one factor where it is larger, and smaller, than the fit has it.
struct Sides {
  double up = 0, down = 0;
  double form = 0;  ///< `form_errors`, which adds to both
  double larger() const { return std::hypot(std::max(up, down), form); }
  double smaller() const { return std::hypot(std::min(up, down), form); }
};

/// Of a factor that is told on one side alone.
std::string bound_of(double x, const Sides& error) {
  const double within = 2 * error.smaller();
  return error.up < error.down ? fmt::format("only that it is at most {:.2f} times the catalog's",
                                             std::exp(x + within))
                               : fmt::format("only that it is at least {:.2f} times the catalog's",
                                             std::exp(x - within));
}

std::vector<FactorValue> factors_of(const Problem& problem, const Linearised& at,
                                    std::span<const Sides> errors, const spec::Job& job,
                                    const std::vector<Row>& rows) {
  constexpr double kNear = 1e-3;
  std::vector<FactorValue> values;
  const auto factors = spec::cluster_factors();
  for (size_t j = 0; j < factors.size(); ++j) {
    FactorValue value{&factors[j], std::exp(at.x[j]), errors[j].larger(), "", false};
    const bool moved = std::ranges::any_of(at.slopes, [&](const std::vector<Slope>& row) {
      return std::ranges::any_of(row, [&](const Slope& slope) { return slope.parameter == j; });
    });
    if (!moved)
      value.not_told = unmoved(factors[j], job, rows);
    else if (const double most = kUndetermined * factors[j].sigma; errors[j].larger() > most)
      value.not_told = errors[j].smaller() <= most / 2 ? bound_of(at.x[j], errors[j])
                       : errors[j].form > most / 2
                           ? "its kernels are off by unlike ratios: others than the model's"
                           : hardly(rows, factors[j]);
    value.at_bound = std::abs(at.x[j]) > problem.bounds[j].upper - kNear;
    values.push_back(std::move(value));
  }
  return values;
}

spec::ClusterEvidence evidence_of(const spec::Job& job, const Problem& problem,
                                  const Linearised& at) {
  const engine::EvidenceKey key = engine::evidence_key(job);
  spec::ClusterEvidence evidence;
  evidence.job = fmt::format("{} on {} GPUs", job.model.name, job.gpus);
  evidence.software = key.software;
  evidence.precision = key.precision;
  evidence.kind = key.kind;
  evidence.gpus = job.gpus;
  evidence.nodes = job.nodes();
  for (const spec::ClusterFactor& factor : spec::cluster_factors())
    evidence.factors.emplace_back(factor.name);
  evidence.covariance = covariance(problem, at);
  return evidence;
}

/// Of the step's logarithm, what the fit leaves: another job may be off by as much.
double leftover_of(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    if (row.quantity.name == std::string_view("step")) return std::log(row.after / row.recorded);
  return 0;
}

double form_of(const Recording& recording, const Predicted& predicted) {
  const engine::Uncertainty& u = engine::catalog_uncertainty();
  if (!recording.traced) return u.base;
  Values shares;
  for (const char* name : {"gemm", "attention", "memory"})
    if (const auto it = recording.values.find(name); it != recording.values.end())
      shares[name] = it->second / recording.values.at("step");
  return u.measured_cluster * form_deviation(recording.durations, predicted.durations, shares);
}

/// The curvature's errors, with a factor's slopes taken over half of its sigma on either side: a
/// host that nothing waits for any more, or a power limit that is reached, ends what they tell, and
/// near by a step goes up and down as collectives fall beside other kernels.
std::vector<Sides> errors_of(const Problem& problem, const Objective& objective,
                             const Linearised& at, size_t threads) {
  std::vector<Sides> errors(at.x.size());
  base::parallel_for(2 * errors.size(), threads, [&](size_t k) {
    const size_t j = k / 2;
    const double by = (k % 2 == 0 ? 0.5 : -0.5) * problem.bounds[j].sigma;
    std::vector<double> x = at.x;
    x[j] += by;
    const std::vector<double> beside = objective.residuals(x);
    Linearised moved = at;
    for (size_t i = 0; i < beside.size(); ++i) {
      std::erase_if(moved.slopes[i], [&](const Slope& slope) { return slope.parameter == j; });
      moved.slopes[i].push_back({j, (beside[i] - at.residuals[i]) / by});
    }
    (k % 2 == 0 ? errors[j].up : errors[j].down) = standard_errors(problem, moved)[j];
  });
  return errors;
}

/// What the model's form leaves open of every factor: how far the fit moves with the numbers that
/// shape kernels, each as far off as its sigma and the scatter of the recorded kernels say. They
/// are not fitted along, as the sums of a class do not tell them from its factor.
std::vector<double> form_errors(const Problem& problem, const Linearised& at,
                                const std::vector<Row>& rows, const Recording& recording,
                                const spec::Job& told, const Predicted& predicted, size_t threads) {
  // Up and down: a tile's size is chosen, so that some numbers count in one direction alone.
  const auto numbers = form_numbers();
  std::vector<Result<Predicted>> moved(2 * numbers.size(), Predicted());
  base::parallel_for(moved.size(), threads, [&](size_t i) {
    const FormNumber& number = numbers[i / 2];
    spec::Job job = told;
    move_form(job.cluster, number, i % 2 == 0 ? number.sigma : -number.sigma);
    moved[i] = predict(job, predicted.values.contains("rest power"));
  });
  const auto scatter = [&](const Durations& durations, std::string_view kernels) {
    const auto a = durations.find(kernels), b = predicted.durations.find(kernels);
    if (a == durations.end() || b == predicted.durations.end()) return 0.0;
    return scatter_of(a->second, b->second);
  };
  std::map<std::string_view, double> expected;  // squares, by class
  for (size_t i = 0; i < moved.size(); ++i)
    if (const std::string_view kernels = numbers[i / 2].kernels; moved[i])
      expected[kernels] += std::pow(scatter(moved[i]->durations, kernels), 2) / 2;
  std::vector<double> squares(at.x.size());
  for (size_t i = 0; i < moved.size(); ++i) {
    if (!moved[i]) continue;
    const std::string_view kernels = numbers[i / 2].kernels;
    const double share = recording.traced ? form_share(scatter(recording.durations, kernels),
                                                       std::sqrt(expected[kernels]))
                                          : 1;
    std::vector<double> by;
    for (const Row& row : rows)
      by.push_back(share * (residual(row, moved[i]) - residual(row, predicted)));
    const std::vector<double> displacement = displaced(problem, at, by);
    for (size_t j = 0; j < squares.size(); ++j) squares[j] += displacement[j] * displacement[j] / 2;
  }
  return base::mapped(squares, [](double square) { return std::sqrt(square); });
}

void set_fitted(base::ParameterSet& set, const std::string& name, double value, const char* unit,
                const std::string& source) {
  constexpr double kDigits = 1e4;
  set.set(name, {std::round(value * kDigits) / kDigits, unit, source, base::Grade::kFitted});
}

/// The fans' curve in the place of the catalog's.
void set_fans(const FanCurve& curve, spec::Job& job) {
  const auto set = [&](const char* name, double value, const char* unit, double error) {
    const std::string full =
        fmt::format("cooling.{}.{}", spec::to_word(job.conditions.cooling), name);
    set_fitted(job.cluster.node.parameters, full, value, unit,
               fmt::format("readings of fans beside the hottest GPU, standard error {:.2g}{}{}",
                           error, *unit == 0 ? "" : " ", unit));
  };
  set("fan_min", curve.lowest, "", curve.lowest_error);
  set("fan_start", curve.start_c, "C", curve.start_error_k);
  set("fan_full", std::max(curve.full_c, curve.start_c + 1), "C", curve.full_error_k);
}

void tell_boards(const run::DeviceLog& log, const spec::Job& job, Twin& twin) {
  constexpr size_t kLeastBoards = 4;
  spec::Job told = job;
  told.cluster = twin.cluster;
  auto boards = fit_boards(log, told, "readings by GPU");
  if (!boards || boards->boards.size() < kLeastBoards) {
    twin.no_boards = boards ? "takes readings of four GPUs or more" : boards.error().message;
    return;
  }
  base::ParameterSet& gpu = twin.cluster.node.gpu.parameters;
  const auto set = [&](const char* name, const BoardValue& spread) {
    set_fitted(gpu, name, spread.value, "",
               fmt::format("readings of {} boards, standard error {:.0f} %", boards->boards.size(),
                           100 * spread.error));
  };
  if (boards->resistance_spread.told) set("spread.resistance", boards->resistance_spread);
  if (boards->leakage_spread.told) {
    set("spread.leakage", boards->leakage_spread);
    set_fitted(gpu, "spread.voltage", 0, "", "spread.leakage stands for it");
  }
  twin.boards = *std::move(boards);
}

}  // namespace

Result<Twin> fit_twin(const Recording& recording, const spec::Job& given, size_t threads,
                      const run::DeviceLog& log) {
  if (spec::is_mixed(given.cluster))
    return input_error(
        "{} has groups of unlike nodes; calibrate --from fits clusters of one kind of node",
        given.cluster.name);
  spec::Job job = given;
  job.cluster.measured.reset();
  FanReadings fans = fan_curve(log);
  if (fans.curve) set_fans(*fans.curve, job);
  ERGOMETER_ASSIGN(const Predicted prior, predict(job, recording.values.contains("rest power")));
  Twin twin;
  twin.fans = std::move(fans);
  twin.notes = recording.notes;
  twin.rows = rows_of(recording, prior.values);
  const Objective objective(job, twin.rows, threads);
  const Problem problem = problem_of(objective, twin.rows.size());
  const Fit found = fit(problem, std::vector<double>(problem.bounds.size(), 0), kIterations);
  const Linearised at = objective.linearise(found.x);
  const spec::Job told = with_factors(job, found.x);
  ERGOMETER_ASSIGN(const Predicted after, predict(told, recording.values.contains("rest power")));
  std::vector<Sides> errors = errors_of(problem, objective, at, threads);
  const std::vector<double> forms =
      form_errors(problem, at, twin.rows, recording, told, after, threads);
  for (size_t j = 0; j < errors.size(); ++j) errors[j].form = forms[j];
  twin.factors = factors_of(problem, at, errors, job, twin.rows);
  for (size_t i = 0; i < twin.rows.size(); ++i) {
    Row& row = twin.rows[i];
    const double off = at.residuals[i] * row.noise;
    row.after = row.quantity.absolute ? row.recorded + off : row.recorded * std::exp(off);
  }
  twin.form = std::hypot(form_of(recording, after), leftover_of(twin.rows));
  twin.cluster = told.cluster;
  twin.cluster.measured = evidence_of(job, problem, at);
  twin.cluster.measured->form = twin.form;
  tell_boards(log, job, twin);
  return twin;
}

}  // namespace ergometer::calibration::twin
