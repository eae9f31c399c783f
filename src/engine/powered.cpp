#include "engine/powered.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/exponential.h"
#include "engine/interval.h"
#include "engine/power_interval.h"
#include "engine/power_loop.h"
#include "engine/power_record.h"
#include "engine/power_summary.h"
#include "engine/step_profile.h"
#include "engine/summary.h"
#include "engine/telemetry_bands.h"

namespace ergometer::engine {
namespace {

/// Slices times GPUs that are looked at one by one, at most, as far as 16 slices allow.
constexpr int64_t kMostDecisions = 8192;

Slicing slicing(const Fleet& fleet) {
  Slicing result;
  result.most_coarse =
      static_cast<int>(std::clamp<int64_t>(kMostDecisions / fleet.gpus(), 16, result.most_coarse));
  return result;
}

/// The job without what its user changed about power, clocks and cooling, on GPUs in rank order: a
/// rank map that finds cooler places makes the job faster than its prices say.
spec::Job at_nominal_conditions(const spec::Job& job) {
  spec::Job nominal = job;
  nominal.conditions = {};
  nominal.conditions.cooling = job.cluster.node.cooling;
  nominal.parallelism.rank_map.clear();
  return nominal;
}

/// Equal caps that keep the cluster within `cluster_w`, fans at full speed.
base::Result<void> cap_cluster(double cluster_w, Fleet& fleet) {
  const auto nodes = static_cast<double>(fleet.all_nodes),
             gpus = static_cast<double>(fleet.gpus_per_node);
  const physics::NodePower& node = fleet.node;
  const double node_w = cluster_w / nodes * node.supply_efficiency - node.overhead_w() -
                        node.supply_fixed_w - fleet.cooling.fan_w;
  const double gpu_w = node_w / gpus;
  if (gpu_w < fleet.kind.lowest_cap_w)
    return base::input_error(fmt::format(
        "cluster_cap: found {:.0f} W; allowed: at least {:.0f} W, with which every GPU gets {:.0f} "
        "W, "
        "the lowest cap it takes",
        cluster_w, nodes * node.ac_w(gpus * fleet.kind.lowest_cap_w, fleet.cooling.fan_w),
        fleet.kind.lowest_cap_w));
  for (physics::ClockLimits& limits : fleet.limits) limits.cap_w = std::min(limits.cap_w, gpu_w);
  return {};
}

void add_readings(double time_s, const FleetStep& step, const FleetHeat& heat, const Fleet& fleet,
                  std::span<const int64_t> sampled, std::vector<run::Telemetry>& telemetry) {
  for (const int64_t rank : sampled) {
    const size_t gpu = fleet.gpu_of(rank);
    const GpuStep& now = step.gpus[gpu];
    uint32_t reasons = 0;
    for (size_t i = 0; i < kCountedReasons.size(); ++i)
      if (now.reasons[i] > 0.5f) reasons |= kCountedReasons[i];
    const double watts = now.mean_w * fleet.silicon[gpu].sensor_gain;
    telemetry.push_back(sensor_reading({.time_s = time_s,
                                        .rank = rank,
                                        .instant_w = watts,
                                        .average_w = watts,
                                        .die_c = heat.surroundings().die_c[gpu],
                                        .memory_c = heat.memory_c()[gpu],
                                        .clock_hz = now.clock_hz,
                                        .reasons = reasons}));
  }
}

void add_period_bands(double time_s, const FleetStep& step, const FleetHeat& heat,
                      const Fleet& fleet, std::vector<run::TelemetryBand>& bands) {
  std::vector<double> watts, clock_hz;
  for (const GpuStep& gpu : step.gpus) {
    watts.push_back(gpu.mean_w);
    clock_hz.push_back(gpu.clock_hz);
  }
  add_bands({.time_s = time_s,
             .watts = watts,
             .die_c = heat.surroundings().die_c,
             .memory_c = heat.memory_c(),
             .clock_hz = clock_hz},
            fleet, bands);
}

bool burns(const spec::Job& job) {
  return job.conditions.smoothing_floor > 0 || job.conditions.smoothing_down_w_per_s > 0;
}

/// What smoothing burns heats the GPUs too.
void burn(const StepProfile& profile, Fleet& fleet) {
  for (size_t gpu = 0; gpu < fleet.burn_w.size(); ++gpu)
    if (fleet.role[gpu] >= 0)
      fleet.burn_w[gpu] = profile.role_burn_w[static_cast<size_t>(fleet.role[gpu])];
}

run::Interval around(double value, const run::Interval& factors) {
  return {.low = value * factors.low, .high = value * factors.high};
}

void add_intervals(const spec::Job& job, const Fleet& fleet, const StepActivity& activity,
                   Powered& result) {
  run::Performance predicted = performance(job, result.timeline);
  add_interval(predicted, job, result.timeline);
  const double sigma =
      base::logarithm(predicted.step_time_s_high / predicted.step_time_s) / kNormal90;
  const PowerIntervals found = power_intervals(job, fleet, activity, result.reference_hz, sigma);
  result.power.mean_interval_w = around(result.power.mean_w_per_gpu, found.mean);
  result.power.peak_interval_w = around(result.power.peak_w_per_gpu, found.peak);
  // The driver holds dies at their limit, whatever the parameters are.
  const double held_c =
      fleet.kind.target_c > 0 ? std::max(fleet.kind.target_c, result.thermal.max_gpu_c) : INFINITY;
  result.thermal.max_interval_c = {
      .low = result.thermal.max_gpu_c + found.max_c.low,
      .high = std::min(held_c, result.thermal.max_gpu_c + found.max_c.high)};
}

}  // namespace

bool has_power_data(const spec::Job& job) {
  const spec::Node& node = job.cluster.node;
  return physics::gpu_power(node.gpu).has_value() && physics::node_power(node).has_value() &&
         physics::cooling_parameters(node, node.cooling).has_value() &&
         cost::EnergyModel::make(job).has_value();
}

base::Result<Powered> power_and_heat(const EngineInput& input, const PoweredOptions& options) {
  const spec::Job& job = input.job;
  ERGOMETER_ASSIGN(const cost::EnergyModel energy_model, cost::EnergyModel::make(job));
  const cost::EnergyTable energies = cost::price_energy(energy_model, input.plan);
  ERGOMETER_ASSIGN(const Fleet nominal, make_fleet(at_nominal_conditions(job)));
  ERGOMETER_ASSIGN(Fleet fleet, make_fleet(job));
  if (job.conditions.cluster_cap_w > 0)
    ERGOMETER_TRY(cap_cluster(job.conditions.cluster_cap_w, fleet));

  const StepActivities activity = step_activities(input, energies, slicing(fleet));
  PowerLoop loop(input, activity.coarse, activity.fine, nominal);
  FleetHeat heat(fleet, job.cluster.node);
  PowerRecord record(fleet);
  Powered result;
  std::vector<run::Telemetry> readings;
  std::vector<run::TelemetryBand> bands;
  bool settled = true;
  if (burns(job)) {
    loop.settle(fleet, heat);
    burn(step_profile(loop, fleet, job, heat, {}), fleet);
  }
  if (job.conditions.duration_s > 0) {
    if (job.conditions.start_c > 0)
      heat.start_at(job.conditions.start_c);
    else
      heat.cool_down();
    loop.run(fleet, heat, job.conditions.duration_s, [&](double start_s, double length_s) {
      record.add(start_s, length_s, loop.step(), heat);
      add_readings(start_s + length_s, loop.step(), heat, fleet, options.telemetry_ranks, readings);
      if (options.bands) add_period_bands(start_s + length_s, loop.step(), heat, fleet, bands);
    });
  } else {
    settled = loop.settle(fleet, heat);
    record.add(0, loop.step().step_s, loop.step(), heat);
  }
  result.reference_hz = loop.reference_hz();
  result.timeline = loop.timeline(options.sampled_ranks, options.events);
  const PowerContext context{.job = job,
                             .fleet = fleet,
                             .activity = activity.coarse,
                             .record = record,
                             .shut_down = heat.shut_down(),
                             .settled = settled,
                             .ranks = options.ranks};
  const StepProfile profile =
      step_profile(loop, fleet, job, heat, options.telemetry_ranks, options.bands);
  summarise_power(context, loop.step(), profile, result);
  ERGOMETER_CHECK(std::isfinite(result.power.energy_j_per_step), "energy is a finite number");
  if (options.intervals) {
    spec::Job alike = job;
    alike.conditions.seed = 0;
    ERGOMETER_ASSIGN(const Fleet fleet_alike, make_fleet(alike));
    add_intervals(job, fleet_alike, activity.coarse, result);
  }
  result.telemetry = job.conditions.duration_s > 0 ? std::move(readings) : profile.telemetry;
  result.bands = job.conditions.duration_s > 0 ? std::move(bands) : profile.bands;
  sort_bands(result.bands);
  return result;
}

}  // namespace ergometer::engine
