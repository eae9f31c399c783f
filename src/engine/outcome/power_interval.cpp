#include "engine/outcome/power_interval.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exponential.h"
#include "base/random.h"
#include "engine/outcome/evidence_tables.h"
#include "engine/outcome/power_summary.h"
#include "engine/power/fleet_heat.h"
#include "engine/power/governed_step.h"
#include "spec/cluster/cluster_factors.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

constexpr int kDraws = 64;
constexpr int kMostDrawRounds = 24;  ///< clocks against heat, as a rule 8
constexpr double kSettledDrawK = 0.1;
constexpr double kSettledDrawClock = 3e-3;  ///< of a ceiling that heat sets, over the highest clock
constexpr double kSettledDrawTrim = 1e-3;   ///< of a cap
constexpr int kMostSlices = 8;              ///< of a step: enough for where the power cap bites
constexpr double kInletDeviationK = 2;
constexpr double kLargestDraw = 2.5;  ///< standard deviations

/// How far a number may be off, relative, by how well it is known (one standard deviation).
double relative_deviation(base::Grade grade) {
  switch (grade) {
    case base::Grade::kDatasheet: return 0.02;
    case base::Grade::kMeasured: return 0.05;
    case base::Grade::kFitted: return 0.07;
    case base::Grade::kAssumed: return 0.20;
  }
  return 0.20;
}

/// One set of factors, drawn when asked for by name.
class Draw {
 public:
  Draw(const spec::Job& job, int number) : job_(job), number_(static_cast<uint64_t>(number)) {
    if (job.cluster.measured) draw_recorded(*job.cluster.measured);
  }

  double normal(const std::string& name) const {
    const base::Random random(job_.conditions.seed, number_, name);
    return std::clamp(random.normal(0), -kLargestDraw, kLargestDraw);
  }
  /// Lognormal around 1, as wide as the grade of the parameter says, or a part of it; 1 where there
  /// is none.
  double factor(const base::ParameterSet& parameters, const std::string& name,
                double part = 1) const {
    const base::Parameter* found = parameters.find(name);
    if (found == nullptr) return 1;
    return base::exponential(part * relative_deviation(found->grade) * normal(name));
  }
  /// Of a number that a recording told of, with those that move with it; else 1.
  double recorded(std::string_view name) const {
    for (const auto& [factor, by] : recorded_)
      if (spec::moves(*factor, name)) return by;
    return 1;
  }
  bool has_recorded(std::string_view name) const {
    return std::ranges::any_of(recorded_,
                               [&](const auto& it) { return spec::moves(*it.first, name); });
  }
  /// Of all of the work together, beside what its numbers are known to.
  double work() const {
    const double sigma = job_.cluster.measured ? job_.cluster.measured->form
                                               : part_left() * catalog_uncertainty().power_work;
    return base::exponential(sigma * normal("power_work"));
  }
  /// Of all that boards draw, whatever it is for.
  double board() const {
    return base::exponential(catalog_uncertainty().power_board * normal("power_board"));
  }
  double gpu(const std::string& name) const {
    return has_recorded(name) ? recorded(name)
                              : factor(job_.cluster.node.gpu.parameters, name,
                                       was_exercised(name) ? part_left() : 1);
  }
  double cooling(const std::string& name) const {
    if (has_recorded(name)) return recorded(name);
    const char* kind = job_.conditions.cooling == spec::Cooling::kAir      ? "cooling.air."
                       : job_.conditions.cooling == spec::Cooling::kLiquid ? "cooling.liquid."
                                                                           : "cooling.immersion.";
    return factor(job_.cluster.node.parameters, kind + name);
  }
  double node(const std::string& name) const { return factor(job_.cluster.node.parameters, name); }
  /// What is left open of a GPU's numbers, together and one by one, where somebody held the model
  /// of power to a board: there the clock tree was told apart, and numbers that are off make up for
  /// each other.
  double part_left() const {
    const base::Parameter* clock_tree = job_.cluster.node.gpu.parameters.find("power.active");
    const bool seen = clock_tree != nullptr && clock_tree->grade == base::Grade::kMeasured;
    const Uncertainty& known = catalog_uncertainty();
    return seen ? known.power_work_seen / known.power_work : 1;
  }
  /// Those jobs were of one GPU each, in BF16, FP16 or FP32.
  static bool was_exercised(std::string_view name) {
    return name != "power.tensor_fp8" && name != "power.tensor_fp4" && name != "power.link";
  }
  bool has_inlet() const { return job_.conditions.has_inlet; }

 private:
  /// Normal with the recording's covariance: independent ones through its Cholesky factor.
  void draw_recorded(const spec::ClusterEvidence& evidence) {
    const auto& c = evidence.covariance;
    std::vector<std::vector<double>> root = c;
    for (size_t i = 0; i < c.size(); ++i) {
      double sum = 0;
      for (size_t j = 0; j <= i; ++j) {
        double rest = c[i][j];
        for (size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
        if (i == j) root[i][i] = std::sqrt(std::max(0.0, rest));
        if (i != j) root[i][j] = root[j][j] > 0 ? rest / root[j][j] : 0;
        sum += root[i][j] * normal("recorded " + evidence.factors[j]);
      }
      recorded_.emplace_back(spec::find_cluster_factor(evidence.factors[i]),
                             base::exponential(sum));
    }
  }

  const spec::Job& job_;
  uint64_t number_;
  std::vector<std::pair<const spec::ClusterFactor*, double>> recorded_;
};

const char* tensor_parameter(spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return "power.tensor_fp32";
    case spec::Precision::kFp8: return "power.tensor_fp8";
    case spec::Precision::kNvfp4: return "power.tensor_fp4";
    default: return "power.tensor_fp16";
  }
}

void vary(const Draw& draw, spec::Precision precision, RoleActivity& role) {
  const double work = draw.work();
  const double tensor = work * draw.gpu(tensor_parameter(precision)),
               vector = work * draw.gpu("power.vector"), cache = work * draw.gpu("power.cache"),
               memory = draw.gpu("power.memory"), link = draw.gpu("power.link");
  for (physics::Energy& slice : role.slices) {
    slice.tensor_j *= tensor;
    slice.vector_j *= vector;
    slice.cache_j *= cache;
    slice.memory_j *= memory;
    slice.link_j *= link;
  }
}

/// What a node draws beside its GPUs: each part by its grade, and all as nodes differ.
void vary_beside(const Draw& draw, FleetKind& kind) {
  const double beside =
      base::exponential(catalog_uncertainty().power_beside * draw.normal("power_beside"));
  physics::NodePower& node = kind.node;
  node.cpu_w *= beside * draw.node("power.cpu");
  node.dram_w *= beside * draw.node("power.dram");
  node.nics_w *= beside * draw.node("power.nic");
  node.switches_w *= beside * draw.node("power.switch");
  node.other_w *= beside * draw.node("power.other");
  kind.cooling.fan_w *= beside * draw.cooling("fan_power");
  node.supply_efficiency = 1 - (1 - node.supply_efficiency) * draw.node("power.supply_efficiency");
}

void vary(const Draw& draw, FleetKind& kind, std::span<double> inlets_c) {
  vary_beside(draw, kind);
  kind.gpu.constant_w *= draw.gpu("power.constant");
  kind.gpu.leakage_w *= draw.gpu("power.leakage");
  kind.gpu.active_w *= draw.gpu("power.active");
  kind.gpu.voltage.lowest = std::min(1.0, kind.gpu.voltage.lowest * draw.gpu("power.voltage_min"));
  physics::CoolingParameters& cooling = kind.cooling;
  cooling.die_k_per_w *= draw.cooling("die_resistance");
  cooling.spreader_k_per_w *= draw.cooling("spreader_resistance");
  cooling.sink_k_per_w *= draw.cooling("sink_resistance");
  cooling.film_k_per_w *= draw.cooling("film_resistance");
  cooling.preheat_k_per_w *= draw.cooling("preheat");
  if (draw.has_inlet()) return;
  if (draw.has_recorded("inlet")) {
    for (double& inlet_c : inlets_c) inlet_c *= draw.recorded("inlet");
    return;
  }
  for (double& inlet_c : inlets_c) inlet_c += kInletDeviationK * draw.normal("inlet");
}

/// Everything of one kind; kinds that share a parameter's name move together, which is the wider.
void vary(const Draw& draw, size_t number, spec::Precision precision, Fleet& fleet,
          StepActivity& activity) {
  for (size_t role = 0; role < activity.roles.size(); ++role)
    if (fleet.kind_of_role(role) == number) vary(draw, precision, activity.roles[role]);
  FleetKind& kind = fleet.kinds[number];
  vary(draw, kind,
       std::span(fleet.inlet_c)
           .subspan(static_cast<size_t>(kind.first_node), static_cast<size_t>(kind.nodes)));
}

/// The same work in `factor` times the time. Kernels that take longer than predicted cost joules
/// too: power falls by less than time grows.
void stretch(double factor, StepActivity& activity) {
  activity.step_s *= factor;
  const double joules =
      base::exponential((1 - catalog_uncertainty().power_step) * base::logarithm(factor));
  for (RoleActivity& role : activity.roles) {
    for (double& clocked_s : role.clocked_s) clocked_s *= factor;
    for (physics::Energy& slice : role.slices) slice = joules * slice;
  }
}

/// The smallest factor that leaves at most `most` slices and divides their number.
int coarsening(int slices, int most) {
  for (int factor = 1;; ++factor)
    if (slices % factor == 0 && slices / factor <= most) return factor;
}

Percentiles percentiles(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {.low = at(0.05), .median = at(0.5), .high = at(0.95)};
}

/// What a board draws when it draws `factor` times what was found: a mean goes beyond no cap, but
/// where the lowest clock has broken it, nothing holds it.
double held(const GpuStep& step, double factor, const Fleet& fleet, size_t gpu) {
  const double watts = step.mean_w, cap_w = cap_of(fleet, gpu);
  const bool broken = watts > cap_w && is_lowest(step.clock_hz, fleet.of_gpu(gpu).gpu);
  return broken ? factor * watts : std::min(factor * watts, std::max(watts, cap_w));
}

/// One number of each draw.
class Drawn {
 public:
  /// `board`: what boards draw over what was found of them.
  void add(const Fleet& fleet, const FleetStep& step, const FleetHeat& heat, double board) {
    double ranks = 0, sum_w = 0, sum_c = 0, sum_hz = 0, largest_w = 0, hottest_c = -1e9;
    double more_w = 0;                                // at the plugs
    std::vector<double> swing_w(fleet.kinds.size());  // by kind
    for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) {
      if (fleet.role[gpu] < 0) continue;
      const double weight = fleet.weight_of(gpu), die_c = heat.surroundings().die_c[gpu];
      const GpuStep& one = step.gpus[gpu];
      const double mean_w = held(one, board, fleet, gpu);
      ranks += weight;
      sum_w += weight * mean_w;
      more_w += weight * (mean_w - one.mean_w) / fleet.of_gpu(gpu).node.supply_efficiency;
      swing_w[fleet.kind_of(gpu)] += weight * std::max(0.0, board * one.peak_w - mean_w);
      sum_c += weight * die_c;
      sum_hz += weight * one.clock_hz;
      largest_w = std::max(largest_w, board * one.peak_w);
      hottest_c = std::max(hottest_c, die_c);
    }
    mean_w_.push_back(sum_w / ranks);
    peak_w_.push_back(largest_w);
    const double cluster_w = heat.cluster_w() + more_w;
    cluster_mean_w_.push_back(cluster_w);
    double peak_w = cluster_w;
    for (size_t kind = 0; kind < swing_w.size(); ++kind)
      peak_w += swing_w[kind] / fleet.kinds[kind].node.supply_efficiency;
    cluster_peak_w_.push_back(peak_w);
    energy_j_.push_back(cluster_w * step.step_s);
    gpu_energy_j_.push_back(sum_w * step.step_s);
    mean_c_.push_back(sum_c / ranks);
    max_c_.push_back(hottest_c);
    clock_hz_.push_back(sum_hz / ranks);
  }
  void add_step(double over_nominal) { step_.push_back(over_nominal); }
  PowerIntervals intervals() const {
    return {.mean_w = percentiles(mean_w_),
            .peak_w = percentiles(peak_w_),
            .cluster_mean_w = percentiles(cluster_mean_w_),
            .cluster_peak_w = percentiles(cluster_peak_w_),
            .energy_j = percentiles(energy_j_),
            .gpu_energy_j = percentiles(gpu_energy_j_),
            .mean_c = percentiles(mean_c_),
            .max_c = percentiles(max_c_),
            .clock_hz = percentiles(clock_hz_),
            .step = step_.empty() ? Percentiles{1, 1, 1} : percentiles(step_)};
  }

 private:
  std::vector<double> mean_w_, peak_w_, cluster_mean_w_, cluster_peak_w_, energy_j_, gpu_energy_j_,
      mean_c_, max_c_, clock_hz_, step_;
};

/// A job's GPUs with the numbers of a draw.
class Varied {
 public:
  Varied(const AtWork& work, uint64_t seed)
      : seeded_(work.job),
        fleet_(work.fleet),
        activity_(coarser(work.activity, coarsening(work.activity.slices, kMostSlices))) {
    seeded_.conditions.seed = seed;
    for (size_t kind = 0; kind < fleet_.kinds.size(); ++kind)
      alike_.push_back(spec::on_group(seeded_, kind));
  }

  /// Lets clocks and heat settle, and hands the fleet, its step and its heat to `take`.
  template <class Take>
  void settle(int number, double reference_hz, double step_sigma, const Take& take) const {
    const Draw draw(seeded_, number);
    StepActivity drawn = activity_;
    Fleet varied = fleet_;
    for (size_t kind = 0; kind < alike_.size(); ++kind)
      vary(Draw(alike_[kind], number), kind, seeded_.training.precision, varied, drawn);
    stretch(base::exponential(step_sigma * draw.normal("step")), drawn);
    GovernedStep governed(varied, drawn);
    FleetHeat heat(varied, seeded_.cluster);
    FleetStep step;
    for (int round = 0; round < kMostDrawRounds; ++round) {
      governed.at_pace(reference_hz, heat.surroundings(), step);
      const double trimmed = governed.trim(step);
      heat.settle(step);
      if (heat.moved_k() < kSettledDrawK && heat.moved_clock() < kSettledDrawClock &&
          trimmed < kSettledDrawTrim)
        break;
    }
    take(varied, step, heat, draw.board());
  }
  /// How long a step is if it is as long as predicted at the reference clock.
  double step_s(int number, double reference_hz) const {
    double step_s = 0;
    settle(number, reference_hz, 0,
           [&](const Fleet&, const FleetStep& step, const FleetHeat&, double) {
             step_s = step.step_s;
           });
    return step_s;
  }

 private:
  spec::Job seeded_;
  std::vector<spec::Job> alike_;  ///< as if all nodes were of a kind
  const Fleet& fleet_;
  StepActivity activity_;
};

}  // namespace

double cap_of(const Fleet& fleet, size_t gpu) {
  return fleet.limits[gpu].cap_w > 0 ? fleet.limits[gpu].cap_w : fleet.of_gpu(gpu).gpu.cap_w;
}

PowerIntervals power_intervals(const AtWork& work, const AtWork* nominal, double reference_hz,
                               double step_sigma) {
  const uint64_t seed = work.job.conditions.seed;
  const Varied own(work, seed);
  std::optional<Varied> beside;
  if (nominal != nullptr) beside.emplace(*nominal, seed);
  Drawn result;
  for (int number = 0; number < kDraws; ++number) {
    own.settle(number, reference_hz, step_sigma,
               [&](const Fleet& fleet, const FleetStep& step, const FleetHeat& heat, double board) {
                 result.add(fleet, step, heat, board);
               });
    if (beside)
      result.add_step(own.step_s(number, reference_hz) / beside->step_s(number, reference_hz));
  }
  return result.intervals();
}

}  // namespace ergometer::engine
