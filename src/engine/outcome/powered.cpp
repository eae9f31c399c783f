#include "engine/outcome/powered.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "base/exponential.h"
#include "engine/outcome/interval.h"
#include "engine/outcome/power_interval.h"
#include "engine/outcome/power_summary.h"
#include "engine/outcome/step_energy.h"
#include "engine/outcome/summary.h"
#include "engine/power/power_loop.h"
#include "engine/views/power_record.h"
#include "engine/views/telemetry_view.h"
#include "engine/views/telling_ranks.h"

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
spec::Job with_nominal_conditions(const spec::Job& job) {
  spec::Job nominal = job;
  nominal.conditions = {};
  nominal.conditions.cooling = job.cluster.node.cooling;
  nominal.parallelism.rank_map.clear();
  return nominal;
}

/// What each GPU may draw where the cluster's nodes keep within `cluster_w` and the fans of each
/// take `fans_w`.
double share_of_cluster(double cluster_w, double fans_w, const Fleet& fleet) {
  const physics::NodePower& node = fleet.node;
  const double node_w = cluster_w / static_cast<double>(fleet.all_nodes) * node.supply_efficiency;
  return (node_w - node.overhead_w() - node.supply_fixed_w - fans_w) /
         static_cast<double>(fleet.gpus_per_node);
}

/// Equal caps of all GPUs, or lower ones that they have.
void cap_each(double gpu_w, Fleet& fleet) {
  for (physics::ClockLimits& limits : fleet.limits) limits.cap_w = std::min(limits.cap_w, gpu_w);
}

/// Equal caps that keep the cluster within `cluster_w`, fans at full speed.
base::Result<void> cap_cluster(double cluster_w, Fleet& fleet) {
  const auto nodes = static_cast<double>(fleet.all_nodes),
             gpus = static_cast<double>(fleet.gpus_per_node);
  const physics::NodePower& node = fleet.node;
  const double gpu_w = share_of_cluster(cluster_w, fleet.cooling.fan_w, fleet);
  if (gpu_w < fleet.kind.lowest_cap_w)
    return base::input_error(fmt::format(
        "cluster_cap: found {:.0f} W; allowed: at least {:.0f} W, with which every GPU gets {:.0f} "
        "W, "
        "the lowest cap it takes",
        cluster_w, nodes * node.ac_w(gpus * fleet.kind.lowest_cap_w, fleet.cooling.fan_w),
        fleet.kind.lowest_cap_w));
  cap_each(gpu_w, fleet);
  return {};
}

/// A job's GPUs, their work and their heat under its conditions. Heat points at the GPUs, so it
/// stays where it is.
struct Scene {
  const spec::Job& job;
  Fleet fleet;
  cost::EnergyTable energies;
  StepActivities activity;
  std::vector<physics::ClockLimits> told;  ///< the GPUs' limits without the cluster's cap
  FleetHeat heat{fleet, job.cluster.node};
  Played played() { return {job.conditions, activity, fleet, heat}; }
};

base::Result<std::unique_ptr<Scene>> scene_of(const spec::Job& job, const EngineInput& input) {
  ERGOMETER_ASSIGN(Fleet fleet, make_fleet(job));
  std::vector<physics::ClockLimits> told = fleet.limits;
  if (job.conditions.cluster_cap_w > 0)
    ERGOMETER_TRY(cap_cluster(job.conditions.cluster_cap_w, fleet));
  ERGOMETER_ASSIGN(const cost::EnergyModel model, cost::EnergyModel::make(job));
  cost::EnergyTable energies = cost::price_energy(model, input.plan);
  StepActivities activity =
      step_activities(input, energies, cost::price_load_energy(model, input.plan), slicing(fleet));
  return std::unique_ptr<Scene>(
      new Scene{job, std::move(fleet), std::move(energies), std::move(activity), std::move(told)});
}

/// Brings the job to rest within its cluster's cap: GPUs get what fans leave at the speed that they
/// then have, which is below the full speed that caps began with.
void settle_in_cap(PowerLoop& loop, Scene& scene) {
  constexpr int kMostRounds = 8;
  constexpr double kNearW = 1;
  Fleet& fleet = scene.fleet;
  double fans_w = fleet.cooling.fan_w;
  for (int round = 0; round < kMostRounds; ++round) {
    loop.settle(scene.played());
    double most_w = 0;
    for (int64_t node = 0; node < fleet.nodes; ++node)
      most_w = std::max(most_w, scene.heat.fans_w(node));
    if (std::abs(most_w - fans_w) < kNearW) return;
    fans_w = most_w;
    fleet.limits = scene.told;
    cap_each(share_of_cluster(scene.job.conditions.cluster_cap_w, fans_w, fleet), fleet);
  }
}

/// What a folded plan leaves out is not like what it has: nothing of it counts.
Powered unsteady() {
  Powered result;
  result.timeline.steady = false;
  return result;
}

void add_intervals(const spec::Job& job, const Fleet& fleet, const StepActivity& activity,
                   Powered& result) {
  run::Performance predicted = performance(job, result.timeline);
  add_interval(predicted, job, result.timeline);
  const double sigma =
      base::logarithm(predicted.step_time_s_high / predicted.step_time_s) / kNormal90;
  const PowerIntervals found = power_intervals(job, fleet, activity, result.reference_hz, sigma);
  run::Power& power = result.power;
  power.mean_interval_w = found.mean_w.power_around(power.mean_w_per_gpu);
  power.peak_interval_w = found.peak_w.factors_on(power.peak_w_per_gpu);
  power.cluster_mean_interval_w = found.cluster_mean_w.power_around(power.cluster_mean_w);
  power.cluster_peak_interval_w = found.cluster_peak_w.factors_on(power.cluster_peak_w);
  // What nothing ever exceeds, the mean does not.
  power.mean_interval_w.high = std::min(power.mean_interval_w.high, power.peak_interval_w.high);
  power.cluster_mean_interval_w.high =
      std::min(power.cluster_mean_interval_w.high, power.cluster_peak_interval_w.high);
  power.energy_interval_j = found.energy_j.factors_on(power.energy_j_per_step);
  power.gpu_energy_interval_j = found.gpu_energy_j.factors_on(power.gpu_energy_j_per_step);
  // The driver holds dies at their limit, whatever the parameters are.
  const double held_c =
      fleet.kind.target_c > 0 ? std::max(fleet.kind.target_c, result.thermal.max_gpu_c) : INFINITY;
  run::Thermal& thermal = result.thermal;
  thermal.max_interval_c = found.max_c.shifts_of(thermal.max_gpu_c);
  thermal.max_interval_c.high = std::min(held_c, thermal.max_interval_c.high);
  thermal.mean_interval_c = found.mean_c.shifts_of(thermal.mean_gpu_c);
  thermal.mean_interval_c.high =
      std::min(thermal.max_interval_c.high, thermal.mean_interval_c.high);
  // Clocks move by steps of their lattice: no interval tells them finer.
  const physics::ClockLattice& clocks = fleet.kind.clocks;
  const double step_mhz = clocks.step_hz / 1e6;
  run::Interval& clock_mhz = thermal.clock_interval_mhz;
  clock_mhz = found.clock_hz.factors_on(thermal.mean_clock_mhz);
  clock_mhz.low = std::min(clock_mhz.low, thermal.mean_clock_mhz - step_mhz);
  clock_mhz.high = std::min(clocks.highest_hz / 1e6,
                            std::max(clock_mhz.high, thermal.mean_clock_mhz + step_mhz));
}

}  // namespace

bool has_power_data(const spec::Job& job) {
  const spec::Node& node = job.cluster.node;
  return physics::gpu_power(node.gpu).has_value() && physics::node_power(node).has_value() &&
         physics::cooling_parameters(node, node.cooling).has_value() &&
         cost::EnergyModel::make(job).has_value();
}

bool is_nominal(const spec::Job& job) {
  spec::Conditions given = job.conditions;
  // How one looks at a job moves no clock.
  given.constant_clocks = false;
  given.sensor = {};
  given.run = {};
  given.pue = 1;
  return given == with_nominal_conditions(job).conditions && job.parallelism.rank_map.empty();
}

base::Result<Powered> power_and_heat(const EngineInput& input, const PoweredOptions& options) {
  const spec::Job& job = input.job;
  const spec::Job nominal_job = with_nominal_conditions(job);
  ERGOMETER_ASSIGN(const std::unique_ptr<Scene> nominal, scene_of(nominal_job, input));
  if (!nominal->activity.steady) return unsteady();
  PowerLoop loop(input, nominal->played());
  const bool differs = !is_nominal(job);
  std::unique_ptr<Scene> own;
  if (differs) {
    ERGOMETER_ASSIGN(own, scene_of(job, input));
  }
  if (!loop.steady()) return unsteady();
  Scene& scene = differs ? *own : *nominal;
  if (job.conditions.cluster_cap_w > 0) settle_in_cap(loop, scene);
  const Fleet& fleet = scene.fleet;
  const FleetHeat& heat = scene.heat;
  PowerRecord record(fleet);
  const double duration_s = job.conditions.duration_s;
  TelemetryView telemetry(fleet, job, options.telemetry_ranks, options.bands,
                          duration_s > 0 ? duration_s : scene.activity.step_s());
  const auto lead_in = [&](const Tick& tick) {
    record.remember(tick);
    telemetry.lead_in(tick);
  };
  const auto watch = [&](const Tick& tick) {
    record.add(tick, heat);
    telemetry.add(tick, heat);
  };
  if (!job.conditions.is_steady()) {
    if (job.conditions.start_c > 0)
      scene.heat.start_at(job.conditions.start_c);
    else
      scene.heat.cool_down();
    telemetry.lead_in_idle(heat);
    if (duration_s > 0)
      loop.run(scene.played(), duration_s, watch);
    else
      loop.run_to_step(scene.played(), job.conditions.measured_step, lead_in, watch);
  } else {
    if (differs) loop.settle(scene.played());
    if (!loop.steady()) return unsteady();
    if (!loop.rests())
      return base::input_error(
          "power and heat: clocks and temperatures of this job find no rest, so that there is no "
          "steady state; --duration 20min plays what happens");
    loop.show(lead_in, watch);
  }
  Powered result;
  result.reference_hz = loop.reference_hz();
  result.played_at = {loop.costs(), loop.clocks_hz()};
  result.timeline = options.events ? loop.play_events() : loop.timeline();
  result.timeline.steady = loop.steady();
  summarise_power({.job = job,
                   .fleet = fleet,
                   .activity = scene.activity.coarse,
                   .record = record,
                   .loop = loop,
                   .ranks = options.ranks,
                   .clock_costs = options.energy_of != nullptr},
                  result);
  ERGOMETER_CHECK(std::isfinite(result.power.energy_j_per_step), "energy is a finite number");
  if (options.energy_of != nullptr)
    result.power.step_energy = step_energy({.input = input,
                                            .workload = *options.energy_of,
                                            .energies = scene.energies,
                                            .timeline = result.timeline,
                                            .fleet = fleet,
                                            .gpus = record.gpus(),
                                            .power = result.power});
  if (options.intervals) {
    spec::Job alike = job;
    alike.conditions.seed = 0;
    ERGOMETER_ASSIGN(Fleet fleet_alike, make_fleet(alike));
    cap_each(std::ranges::max(fleet.limits, {}, &physics::ClockLimits::cap_w).cap_w, fleet_alike);
    add_intervals(job, fleet_alike, scene.activity.coarse, result);
  }
  if (options.telling) telemetry.add_ranks(telling_ranks(job, fleet, record.gpus()));
  result.telemetry = telemetry.rows();
  result.bands = telemetry.bands();
  return result;
}

}  // namespace ergometer::engine
