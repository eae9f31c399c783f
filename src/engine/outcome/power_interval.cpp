#include "engine/outcome/power_interval.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/exponential.h"
#include "base/random.h"
#include "engine/outcome/evidence_tables.h"
#include "engine/power/fleet_heat.h"
#include "engine/power/governed_step.h"

namespace ergometer::engine {
namespace {

constexpr int kDraws = 64;
constexpr int kMostDrawRounds = 24;  ///< clocks against heat, as a rule 8
constexpr double kSettledDrawK = 0.1;
constexpr int kMostSlices = 8;  ///< of a step: enough for where the power cap bites
constexpr double kInletDeviationK = 2;
constexpr double kLargestDraw = 2.5;  ///< standard deviations

/// One set of factors, drawn when asked for by name.
class Draw {
 public:
  Draw(const spec::Job& job, int number) : job_(job), number_(static_cast<uint64_t>(number)) {}

  double normal(const std::string& name) const {
    const base::Random random(job_.conditions.seed, number_, name);
    return std::clamp(random.normal(0), -kLargestDraw, kLargestDraw);
  }
  /// Lognormal around 1, as wide as the grade of the parameter says; 1 where there is none.
  double factor(const base::ParameterSet& parameters, const std::string& name) const {
    const base::Parameter* found = parameters.find(name);
    if (found == nullptr) return 1;
    return base::exponential(relative_deviation(found->grade) * normal(name));
  }
  double gpu(const std::string& name) const {
    return factor(job_.cluster.node.gpu.parameters, name);
  }
  double cooling(const std::string& name) const {
    const char* kind = job_.conditions.cooling == spec::Cooling::kAir      ? "cooling.air."
                       : job_.conditions.cooling == spec::Cooling::kLiquid ? "cooling.liquid."
                                                                           : "cooling.immersion.";
    return factor(job_.cluster.node.parameters, kind + name);
  }
  double node(const std::string& name) const { return factor(job_.cluster.node.parameters, name); }
  bool has_inlet() const { return job_.conditions.has_inlet; }

 private:
  const spec::Job& job_;
  uint64_t number_;
};

const char* tensor_parameter(spec::Precision precision) {
  switch (precision) {
    case spec::Precision::kFp32: return "power.tensor_fp32";
    case spec::Precision::kFp8: return "power.tensor_fp8";
    case spec::Precision::kNvfp4: return "power.tensor_fp4";
    default: return "power.tensor_fp16";
  }
}

void vary(const Draw& draw, spec::Precision precision, StepActivity& activity) {
  const double work =
      base::exponential(catalog_uncertainty().power_work * draw.normal("power_work"));
  const double tensor = work * draw.gpu(tensor_parameter(precision)),
               vector = work * draw.gpu("power.vector"), cache = work * draw.gpu("power.cache"),
               memory = draw.gpu("power.memory"), link = draw.gpu("power.link");
  for (RoleActivity& role : activity.roles)
    for (physics::Energy& slice : role.slices) {
      slice.tensor_j *= tensor;
      slice.vector_j *= vector;
      slice.cache_j *= cache;
      slice.memory_j *= memory;
      slice.link_j *= link;
    }
}

/// What a node draws beside its GPUs: each part by its grade, and all as nodes differ.
void vary_beside(const Draw& draw, Fleet& fleet) {
  const double beside =
      base::exponential(catalog_uncertainty().power_beside * draw.normal("power_beside"));
  physics::NodePower& node = fleet.node;
  node.cpu_w *= beside * draw.node("power.cpu");
  node.dram_w *= beside * draw.node("power.dram");
  node.nics_w *= beside * draw.node("power.nic");
  node.switches_w *= beside * draw.node("power.switch");
  node.other_w *= beside * draw.node("power.other");
  fleet.cooling.fan_w *= beside * draw.cooling("fan_power");
  node.supply_efficiency = 1 - (1 - node.supply_efficiency) * draw.node("power.supply_efficiency");
}

void vary(const Draw& draw, Fleet& fleet) {
  vary_beside(draw, fleet);
  fleet.kind.constant_w *= draw.gpu("power.constant");
  fleet.kind.leakage_w *= draw.gpu("power.leakage");
  fleet.kind.active_w *= draw.gpu("power.active");
  fleet.kind.voltage.lowest =
      std::min(1.0, fleet.kind.voltage.lowest * draw.gpu("power.voltage_min"));
  physics::CoolingParameters& cooling = fleet.cooling;
  cooling.die_k_per_w *= draw.cooling("die_resistance");
  cooling.spreader_k_per_w *= draw.cooling("spreader_resistance");
  cooling.sink_k_per_w *= draw.cooling("sink_resistance");
  cooling.film_k_per_w *= draw.cooling("film_resistance");
  cooling.preheat_k_per_w *= draw.cooling("preheat");
  if (draw.has_inlet()) return;
  for (double& inlet_c : fleet.inlet_c) inlet_c += kInletDeviationK * draw.normal("inlet");
}

/// The same work in `factor` times the time.
void stretch(double factor, StepActivity& activity) {
  activity.step_s *= factor;
  for (RoleActivity& role : activity.roles)
    for (double& clocked_s : role.clocked_s) clocked_s *= factor;
}

/// The smallest factor that leaves at most `most` slices and divides their number.
int coarsening(int slices, int most) {
  for (int factor = 1;; ++factor)
    if (slices % factor == 0 && slices / factor <= most) return factor;
}

/// 5th percentile, median and 95th.
struct Percentiles {
  double low = 0, median = 0, high = 0;
};
Percentiles percentiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {.low = at(0.05), .median = at(0.5), .high = at(0.95)};
}

run::Interval factors(std::vector<double> values) {
  const Percentiles found = percentiles(std::move(values));
  return {.low = found.low / found.median, .high = found.high / found.median};
}

run::Interval differences(std::vector<double> values) {
  const Percentiles found = percentiles(std::move(values));
  return {.low = found.low - found.median, .high = found.high - found.median};
}

}  // namespace

double relative_deviation(base::Grade grade) {
  switch (grade) {
    case base::Grade::kDatasheet: return 0.02;
    case base::Grade::kMeasured: return 0.05;
    case base::Grade::kFitted: return 0.07;
    case base::Grade::kAssumed: return 0.20;
  }
  return 0.20;
}

PowerIntervals power_intervals(const spec::Job& job, const Fleet& fleet,
                               const StepActivity& activity, double reference_hz,
                               double step_sigma) {
  std::vector<double> mean_w, peak_w, cluster_mean_w, cluster_peak_w, max_c;
  const StepActivity coarse = coarser(activity, coarsening(activity.slices, kMostSlices));
  for (int number = 0; number < kDraws; ++number) {
    const Draw draw(job, number);
    StepActivity drawn = coarse;
    Fleet varied = fleet;
    vary(draw, job.training.precision, drawn);
    vary(draw, varied);
    const GovernedStep governed(varied, drawn);
    FleetHeat heat(varied, job.cluster.node);
    FleetStep step;
    stretch(base::exponential(step_sigma * draw.normal("step")), drawn);
    for (int round = 0; round < kMostDrawRounds; ++round) {
      governed.at_pace(reference_hz, heat.surroundings(), step);
      heat.settle(step);
      if (heat.moved_k() < kSettledDrawK) break;
    }
    double ranks = 0, sum_w = 0, swing_w = 0, largest_w = 0, hottest_c = -1e9;
    for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) {
      if (varied.role[gpu] < 0) continue;
      ranks += varied.weight_of(gpu);
      sum_w += varied.weight_of(gpu) * step.gpus[gpu].mean_w;
      swing_w += varied.weight_of(gpu) * (step.gpus[gpu].peak_w - step.gpus[gpu].mean_w);
      largest_w = std::max(largest_w, step.gpus[gpu].peak_w);
      hottest_c = std::max(hottest_c, heat.surroundings().die_c[gpu]);
    }
    mean_w.push_back(sum_w / ranks);
    peak_w.push_back(largest_w);
    cluster_mean_w.push_back(heat.cluster_w());
    cluster_peak_w.push_back(heat.cluster_w() + swing_w / varied.node.supply_efficiency);
    max_c.push_back(hottest_c);
  }
  return {.mean = factors(std::move(mean_w)),
          .peak = factors(std::move(peak_w)),
          .cluster_mean = factors(std::move(cluster_mean_w)),
          .cluster_peak = factors(std::move(cluster_peak_w)),
          .max_c = differences(std::move(max_c))};
}

}  // namespace ergometer::engine
