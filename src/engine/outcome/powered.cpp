#include "engine/outcome/powered.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/collection.h"
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
#include "spec/cluster/boards_limit.h"
#include "spec/job/node_groups.h"

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
/// rank map that finds cooler places makes the job faster than its prices say. On unlike nodes the
/// map says which kind a rank runs on, and stays.
spec::Job with_nominal_conditions(const spec::Job& job) {
  spec::Job nominal = job;
  nominal.conditions = {};
  nominal.conditions.cooling = job.cluster.node.cooling;
  if (!spec::is_mixed(job.cluster)) nominal.parallelism.rank_map.clear();
  return nominal;
}

/// A kind's part of the cluster's power: as of all nodes with GPUs at their own caps and full fans.
double part_of(const Fleet& fleet, const FleetKind& kind) {
  const auto most_w = [&](const FleetKind& it) {
    return it.all_nodes *
           it.node.ac_w(static_cast<double>(fleet.gpus_per_node) * it.gpu.cap_w, it.cooling.fan_w);
  };
  return most_w(kind) / base::sum(fleet.kinds, most_w);
}

/// What each GPU of a kind may draw where the cluster keeps within `cluster_w` and the fans of each
/// of its nodes take `fans_w`.
double share_of_cluster(double cluster_w, double fans_w, const Fleet& fleet,
                        const FleetKind& kind) {
  const physics::NodePower& node = kind.node;
  const double node_w = cluster_w * part_of(fleet, kind) / kind.all_nodes * node.supply_efficiency;
  return (node_w - node.overhead_w() - node.supply_fixed_w - fans_w) /
         static_cast<double>(fleet.gpus_per_node);
}

/// With which every GPU of a kind gets the lowest cap that it takes, fans at full speed.
double least_cluster_w(const Fleet& fleet, const FleetKind& kind) {
  const double gpus_w = static_cast<double>(fleet.gpus_per_node) * kind.gpu.lowest_cap_w;
  return kind.all_nodes * kind.node.ac_w(gpus_w, kind.cooling.fan_w) / part_of(fleet, kind);
}

/// Equal caps of all GPUs of a kind, or lower ones that they have.
void cap_each(double gpu_w, const FleetKind& kind, Fleet& fleet) {
  const GpuRange gpus = fleet.gpus_of(kind);
  for (physics::ClockLimits& limits : std::span(fleet.limits).subspan(gpus.first, gpus.count))
    limits.cap_w = std::min(limits.cap_w, gpu_w);
}

/// Caps that keep the cluster within `cluster_w`, fans at full speed.
Result<void> cap_cluster(double cluster_w, Fleet& fleet) {
  for (const FleetKind& kind : fleet.kinds) {
    const double gpu_w = share_of_cluster(cluster_w, kind.cooling.fan_w, fleet, kind);
    const double lowest_w = kind.gpu.lowest_cap_w;
    if (gpu_w < lowest_w)
      return input_error(
          "cluster_cap: found {:.0f} W; allowed: at least {:.0f} W, with which every GPU gets "
          "{:.0f} W, the lowest cap it takes",
          cluster_w, std::ceil(least_cluster_w(fleet, kind)), lowest_w);
    cap_each(gpu_w, kind, fleet);
  }
  return {};
}

/// Whether any GPU feels the cluster's cap: where fans at full speed leave every GPU its own, none
/// does.
Result<bool> cluster_cap_binds(const spec::Job& job, std::span<const OtherWork> others) {
  ERGOMETER_ASSIGN(Fleet fleet, make_fleet(job, others));
  const std::vector<physics::ClockLimits> own = fleet.limits;
  ERGOMETER_TRY(cap_cluster(job.conditions.cluster_cap_w, fleet));
  return fleet.limits != own;
}

/// A job's GPUs, their work and their heat under its conditions. Heat points at the GPUs, so it
/// stays where it is.
struct Scene {
  const spec::Job& job;
  Fleet fleet;
  std::vector<Energies> energies;  ///< by kind
  StepActivities activity;
  std::vector<physics::ClockLimits> told;  ///< the GPUs' limits without the cluster's cap
  std::span<const OtherWork> others;
  FleetHeat heat{fleet, job.cluster};
  Played played() { return {job.conditions, activity, fleet, heat}; }
};

Result<std::unique_ptr<Scene>> scene_of(const spec::Job& job, const EngineInput& input,
                                        std::span<const OtherWork> others = {}) {
  ERGOMETER_ASSIGN(Fleet fleet, make_fleet(job, others));
  std::vector<physics::ClockLimits> told = fleet.limits;
  if (job.conditions.cluster_cap_w > 0)
    ERGOMETER_TRY(cap_cluster(job.conditions.cluster_cap_w, fleet));
  ERGOMETER_ASSIGN(std::vector<Energies> energies, energies_of_groups(job, input.plan));
  StepActivities activity = step_activities(input, energies, slicing(fleet));
  return std::unique_ptr<Scene>(new Scene{job, std::move(fleet), std::move(energies),
                                          std::move(activity), std::move(told), others});
}

/// By kind: what the fans of the node draw that draw most.
std::vector<double> most_fans_w(const Fleet& fleet, const FleetHeat& heat) {
  std::vector<double> most_w(fleet.kinds.size());
  for (int64_t node = 0; node < fleet.nodes; ++node) {
    double& of_kind = most_w[fleet.kind_of_node(node)];
    of_kind = std::max(of_kind, heat.fans_w(node));
  }
  return most_w;
}

/// Brings the job to rest within its cluster's cap: GPUs get what fans leave at the speed that they
/// then have, which is below the full speed that caps began with.
void settle_in_cap(PowerLoop& loop, Scene& scene) {
  constexpr int kMostRounds = 8;
  constexpr double kNearW = 1;
  Fleet& fleet = scene.fleet;
  std::vector<double> fans_w =
      base::mapped(fleet.kinds, [](const FleetKind& kind) { return kind.cooling.fan_w; });
  for (int round = 0; round < kMostRounds; ++round) {
    loop.settle(scene.played());
    const std::vector<double> most_w = most_fans_w(fleet, scene.heat);
    double moved_w = 0;
    for (size_t kind = 0; kind < most_w.size(); ++kind)
      moved_w = std::max(moved_w, std::abs(most_w[kind] - fans_w[kind]));
    if (moved_w < kNearW) return;
    fans_w = most_w;
    fleet.limits = scene.told;
    for (size_t kind = 0; kind < fans_w.size(); ++kind) {
      const FleetKind& it = fleet.kinds[kind];
      cap_each(share_of_cluster(scene.job.conditions.cluster_cap_w, fans_w[kind], fleet, it), it,
               fleet);
    }
  }
}

/// What a folded plan leaves out is not like what it has: nothing of it counts.
Powered unsteady() {
  Powered result;
  result.timeline.steady = false;
  return result;
}

/// The driver holds dies at their limit, whatever the parameters are; where one is well above the
/// highest of them, at the lowest clock, the hardware turns it off before it gets hotter than that.
double held_at_c(const Fleet& fleet, double hottest_c) {
  double limit_c = 0, shutdown_c = 0;
  const auto raise = [](double& highest_c, double c) {
    highest_c = std::max(highest_c, c > 0 ? c : INFINITY);
  };
  for (const FleetKind& kind : fleet.kinds) {
    raise(limit_c, kind.gpu.target_c);
    raise(shutdown_c, kind.gpu.shutdown_c);
  }
  return std::max(hottest_c, hottest_c < limit_c + kHeldWithinK ? limit_c : shutdown_c);
}

/// GPUs of a kind get the highest cap that one of it has.
void cap_alike(const Fleet& told, Fleet& fleet) {
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    const GpuRange gpus = told.gpus_of(told.kinds[kind]);
    const auto limits = std::span(told.limits).subspan(gpus.first, gpus.count);
    cap_each(std::ranges::max(limits, {}, &physics::ClockLimits::cap_w).cap_w, fleet.kinds[kind],
             fleet);
  }
}

void take_paces(const Fleet& from, Fleet& to) {
  for (size_t kind = 0; kind < to.kinds.size(); ++kind) to.kinds[kind].pace = from.kinds[kind].pace;
}

double mean_cap_w(const Fleet& fleet) {
  double ranks = 0, sum_w = 0;
  for (size_t gpu = 0; gpu < fleet.role.size(); ++gpu) {
    if (fleet.role[gpu] < 0) continue;
    ranks += fleet.weight_of(gpu);
    sum_w += fleet.weight_of(gpu) * cap_of(fleet, gpu);
  }
  return sum_w / ranks;
}

/// `nominal`: the job at nominal conditions; null: it is.
void add_intervals(const AtWork& work, const AtWork* nominal, Powered& result) {
  const auto& [job, fleet, activity] = work;
  run::Performance predicted = performance(job, result.timeline);
  add_interval(predicted, job, result.timeline);
  const double sigma =
      base::logarithm(predicted.step_time_s_high / predicted.step_time_s) / kNormal90;
  const PowerIntervals found = power_intervals(work, nominal, result.reference_hz, sigma);
  result.step_spread = found.step.factors_on(1);
  run::Power& power = result.power;
  power.mean_interval_w = found.mean_w.power_around(power.mean_w_per_gpu);
  power.peak_interval_w = found.peak_w.factors_on(power.peak_w_per_gpu);
  power.cluster_mean_interval_w = found.cluster_mean_w.power_around(power.cluster_mean_w);
  power.cluster_peak_interval_w = found.cluster_peak_w.factors_on(power.cluster_peak_w);
  // What nothing ever exceeds, the mean does not.
  power.mean_interval_w.high = std::min(power.mean_interval_w.high, power.peak_interval_w.high);
  power.cluster_mean_interval_w.high =
      std::min(power.cluster_mean_interval_w.high, power.cluster_peak_interval_w.high);
  // Nor is it above the boards' caps, unless they are broken.
  if (const double cap_w = mean_cap_w(fleet); power.mean_w_per_gpu <= kHeldToCap * cap_w)
    power.mean_interval_w.high =
        std::min(power.mean_interval_w.high, std::max(power.mean_w_per_gpu, cap_w));
  power.energy_interval_j = found.energy_j.factors_on(power.energy_j_per_step);
  power.gpu_energy_interval_j = found.gpu_energy_j.factors_on(power.gpu_energy_j_per_step);
  run::Thermal& thermal = result.thermal;
  const double held_c = held_at_c(fleet, thermal.max_gpu_c);
  thermal.max_interval_c = found.max_c.shifts_of(thermal.max_gpu_c);
  thermal.max_interval_c.high = std::min(held_c, thermal.max_interval_c.high);
  thermal.mean_interval_c = found.mean_c.shifts_of(thermal.mean_gpu_c);
  thermal.mean_interval_c.high =
      std::min(thermal.max_interval_c.high, thermal.mean_interval_c.high);
  // Clocks move by steps of their lattice: no interval tells them finer.
  double step_mhz = 0, highest_mhz = 0;
  for (const FleetKind& kind : fleet.kinds) {
    step_mhz = std::max(step_mhz, kind.gpu.clocks.step_hz / 1e6);
    highest_mhz = std::max(highest_mhz, kind.gpu.clocks.highest_hz / 1e6);
  }
  run::Interval& clock_mhz = thermal.clock_interval_mhz;
  clock_mhz = found.clock_hz.factors_on(thermal.mean_clock_mhz);
  clock_mhz.low = std::min(clock_mhz.low, thermal.mean_clock_mhz - step_mhz);
  clock_mhz.high =
      std::min(highest_mhz, std::max(clock_mhz.high, thermal.mean_clock_mhz + step_mhz));
}

/// Who looks on while a job is played.
struct Watchers {
  PowerRecord& record;
  TelemetryView& telemetry;
  void lead_in(const Tick& tick) { telemetry.lead_in(tick); }
  void watch(const Tick& tick, const FleetHeat& heat) {
    record.add(tick, heat);
    telemetry.add(tick, heat);
  }
};

/// From the start that the job names, for as long as it says.
void play_from_start(PowerLoop& loop, Scene& scene, Watchers watchers) {
  const spec::Conditions& conditions = scene.job.conditions;
  if (conditions.start_c > 0) {
    // A die's reading says what its sink has only with where the job comes to rest.
    loop.settle(scene.played());
    scene.heat.warm_to(conditions.start_c);
  } else {
    const auto cold = [&] { scene.heat.cool_down(); };
    const bool has_a_step =
        conditions.measured_step > 0 || conditions.duration_s >= scene.activity.step_s();
    if (has_a_step) loop.rehearse_first_step(scene.played(), cold);
    cold();
  }
  watchers.telemetry.lead_in_idle(scene.heat);
  const auto watch = [&](const Tick& tick) { watchers.watch(tick, scene.heat); };
  if (conditions.duration_s > 0) return loop.run(scene.played(), conditions.duration_s, watch);
  loop.run_to_step(
      scene.played(), conditions.measured_step, [&](const Tick& tick) { watchers.lead_in(tick); },
      watch);
}

/// The steady state; `settled`: the loop rests in this scene already.
Result<void> play_at_rest(PowerLoop& loop, Scene& scene, bool settled, Watchers watchers) {
  if (!settled) loop.settle(scene.played());
  if (!loop.steady()) return {};
  if (!loop.rests())
    return input_error(
        "power and heat: clocks and temperatures of this job find no rest, so that there is no "
        "steady state; --duration 20min plays what happens");
  loop.show([&](const Tick& tick) { watchers.lead_in(tick); },
            [&](const Tick& tick) { watchers.watch(tick, scene.heat); });
  watchers.record.close_circle();
  return {};
}

Result<void> tell_intervals(const Scene& scene, const Scene* nominal, Powered& result) {
  spec::Job alike = scene.job;
  alike.conditions.seed = 0;
  ERGOMETER_ASSIGN(Fleet fleet, make_fleet(alike, scene.others));
  cap_alike(scene.fleet, fleet);
  take_paces(scene.fleet, fleet);
  std::optional<AtWork> as_nominal;
  if (nominal != nullptr)
    as_nominal.emplace(AtWork{nominal->job, nominal->fleet, nominal->activity.coarse});
  add_intervals({scene.job, fleet, scene.activity.coarse}, as_nominal ? &*as_nominal : nullptr,
                result);
  return {};
}

/// Work that a ramp keeps from its power would take longer, which nothing here plays. A ramp that
/// is enough follows from a play that none holds back: where power is kept down boards allow higher
/// bursts.
Result<Powered> slowed_by_ramp(const EngineInput& input, std::span<const OtherWork> others) {
  constexpr double kNoneWPerS = 1e12;
  spec::Job job = input.job;
  job.conditions.smoothing_up_w_per_s = kNoneWPerS;
  ERGOMETER_ASSIGN(const Powered free, power_and_heat({.job = job,
                                                       .plan = input.plan,
                                                       .costs = input.costs,
                                                       .clocks_hz = {},
                                                       .sampled_ranks = {},
                                                       .stretch = input.stretch},
                                                      {.intervals = false, .others = others}));
  // A fiftieth more, as plays differ a little, and two digits, rounded up.
  const double enough_w_per_s = 1.02 * free.steepest_w_per_s;
  const double digit = std::pow(10, std::floor(std::log10(enough_w_per_s)) - 1);
  return input_error(
      "power_smoothing: up: found {:g} W/s, with which the job's work would run slower, which is "
      "not simulated; {:g} W/s is enough, as quickly as its power rises on a GPU",
      input.job.conditions.smoothing_up_w_per_s, digit * std::ceil(enough_w_per_s / digit));
}

/// The same play of the job without its cluster's cap, which none of its GPUs feels.
Result<Powered> without_cluster_cap(const EngineInput& input, const PoweredOptions& options) {
  spec::Job job = input.job;
  job.conditions.cluster_cap_w = 0;
  return power_and_heat({.job = job,
                         .plan = input.plan,
                         .costs = input.costs,
                         .clocks_hz = input.clocks_hz,
                         .sampled_ranks = input.sampled_ranks,
                         .stretch = input.stretch,
                         .host_stalls = input.host_stalls,
                         .waits_left_out = input.waits_left_out},
                        options);
}

}  // namespace

bool has_power_data(const spec::Job& job) {
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group) {
    const spec::Node& node = spec::node_of_group(job.cluster, group);
    const bool known = physics::gpu_power(node.gpu).has_value() &&
                       physics::node_power(node).has_value() &&
                       physics::cooling_parameters(node, node.cooling).has_value() &&
                       cost::EnergyModel::make(spec::on_group(job, group)).has_value();
    if (!known) return false;
  }
  return true;
}

bool is_nominal(const spec::Job& job) {
  spec::Conditions given = job.conditions;
  if (spec::cap_is_boards_limit(job)) given.power_cap_w = 0;
  // How one looks at a job moves no clock.
  given.constant_clocks = false;
  given.sensor = {};
  given.run = {};
  given.pue = 1;
  const spec::Job nominal = with_nominal_conditions(job);
  return given == nominal.conditions && job.parallelism.rank_map == nominal.parallelism.rank_map;
}

Result<double> least_cluster_cap_w(const spec::Job& job) {
  ERGOMETER_ASSIGN(const Fleet fleet, make_fleet(job));
  return base::largest(fleet.kinds, 0.0,
                       [&](const FleetKind& kind) { return least_cluster_w(fleet, kind); });
}

Result<Powered> power_and_heat(const EngineInput& input, const PoweredOptions& options) {
  const spec::Job& job = input.job;
  if (job.conditions.cluster_cap_w > 0) {
    ERGOMETER_ASSIGN(const bool binds, cluster_cap_binds(job, options.others));
    if (!binds) return without_cluster_cap(input, options);
  }
  const spec::Job nominal_job = with_nominal_conditions(job);
  ERGOMETER_ASSIGN(const std::unique_ptr<Scene> nominal, scene_of(nominal_job, input));
  if (!nominal->activity.steady) return unsteady();
  PowerLoop loop(input, nominal->played());
  const bool differs = !is_nominal(job) || !options.others.empty();
  std::unique_ptr<Scene> own;
  if (differs) {
    ERGOMETER_ASSIGN(own, scene_of(job, input, options.others));
    take_paces(nominal->fleet, own->fleet);
  }
  if (!loop.steady()) return unsteady();
  Scene& scene = differs ? *own : *nominal;
  if (job.conditions.cluster_cap_w > 0) settle_in_cap(loop, scene);
  const Fleet& fleet = scene.fleet;
  PowerRecord record(fleet);
  const double duration_s = job.conditions.duration_s;
  TelemetryView telemetry(fleet, job, options.telemetry_ranks, options.bands,
                          duration_s > 0 ? duration_s : scene.activity.step_s());
  if (job.conditions.is_steady()) {
    ERGOMETER_TRY(play_at_rest(loop, scene, !differs, {record, telemetry}));
  } else {
    play_from_start(loop, scene, {record, telemetry});
  }
  if (!loop.steady()) return unsteady();
  constexpr double kRoundingW = 1e-6;
  if (loop.play().most_missing_w() > kRoundingW) return slowed_by_ramp(input, options.others);
  Powered result;
  result.steepest_w_per_s = loop.play().steepest_w_per_s();
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
  if (options.intervals)
    ERGOMETER_TRY(tell_intervals(scene, differs ? nominal.get() : nullptr, result));
  if (options.telling) telemetry.add_ranks(telling_ranks(job, fleet, record.gpus()));
  result.telemetry = telemetry.rows();
  result.bands = telemetry.bands();
  return result;
}

}  // namespace ergometer::engine
