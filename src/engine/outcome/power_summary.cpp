#include "engine/outcome/power_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/collection.h"
#include "engine/outcome/summary.h"
#include "run/event_reasons.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

constexpr double kMegahertz = 1e6;

/// nvidia-smi's name.
std::string reason_name(uint32_t reason) {
  for (const run::EventReasonName& it : run::kEventReasons)
    if (it.bit == static_cast<int64_t>(reason)) return std::string(it.name);
  return "unknown";
}

/// Mean over ranks of a column of the record.
template <class Get>
double mean_over_ranks(const PowerContext& context, const std::vector<GpuRecord>& gpus, Get get) {
  double sum = 0;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    if (context.fleet.role[gpu] >= 0) sum += context.fleet.weight_of(gpu) * get(gpus[gpu]);
  return sum / static_cast<double>(context.fleet.ranks);
}

/// The same over the ranks of one kind.
template <class Get>
double mean_over_ranks(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                       const FleetKind& kind, Get get) {
  double sum = 0;
  const GpuRange alike = context.fleet.gpus_of(kind);
  for (size_t gpu = alike.first; gpu < alike.first + alike.count; ++gpu)
    if (context.fleet.role[gpu] >= 0) sum += context.fleet.weight_of(gpu) * get(gpus[gpu]);
  return sum / kind.ranks;
}

/// Of a stage's ranks, those that run a role.
double share_of_stage(const Fleet& fleet, size_t role) {
  const int32_t roles = fleet.classes * static_cast<int32_t>(fleet.kinds.size());
  if (roles == 1) return 1;
  const int32_t stages = *std::ranges::max_element(fleet.role) / roles + 1;
  double ranks = 0;
  for (size_t gpu = 0; gpu < fleet.role.size(); ++gpu)
    if (fleet.role[gpu] == static_cast<int32_t>(role)) ranks += fleet.weight_of(gpu);
  return ranks * stages / static_cast<double>(fleet.ranks);
}

/// Mean of a number of the kinds, each as often as the job has of it.
template <class Get>
double mean_over_kinds(const Fleet& fleet, double FleetKind::* count, Get get) {
  double all = 0, mean = 0;
  for (const FleetKind& kind : fleet.kinds) all += kind.*count;
  for (const FleetKind& kind : fleet.kinds) mean += kind.*count / all * get(kind);
  return mean;
}

/// A GPU's mean power by what takes it. Core work is told apart in the proportions of its energies.
std::vector<run::PowerPart> gpu_parts(const PowerContext& context,
                                      const std::vector<GpuRecord>& gpus) {
  physics::Energy work;
  for (size_t role = 0; role < context.activity.roles.size(); ++role) {
    const double share = share_of_stage(context.fleet, role);
    for (const physics::Energy& slice : context.activity.roles[role].slices) work += share * slice;
  }
  const auto mean = [&](double GpuRecord::* part) {
    return mean_over_ranks(context, gpus, [part](const GpuRecord& it) { return it.*part; });
  };
  const double core_w = mean(&GpuRecord::core_w);
  const double per_core_j = work.core_j() > 0 ? core_w / work.core_j() : 0;
  std::vector<run::PowerPart> parts = {
      {"tensor", work.tensor_j * per_core_j},
      {"vector", work.vector_j * per_core_j},
      {"cache", work.cache_j * per_core_j},
      {"hbm", mean(&GpuRecord::hbm_w)},
      {"links", mean(&GpuRecord::links_w)},
      {"clock_tree", mean(&GpuRecord::active_w)},
      {"constant", mean_over_kinds(context.fleet, &FleetKind::ranks,
                                   [](const FleetKind& kind) { return kind.gpu.constant_w; })}};
  const double burnt_w = mean(&GpuRecord::burnt_w);
  if (burnt_w != 0) parts.push_back({"smoothing", burnt_w});
  double leakage_w = mean(&GpuRecord::mean_w);
  for (const run::PowerPart& part : parts) leakage_w -= part.watts;
  parts.push_back({"leakage", leakage_w});
  return parts;
}

std::vector<run::PowerPart> node_parts(const PowerContext& context,
                                       const std::vector<GpuRecord>& gpus) {
  const auto nodes = static_cast<double>(context.fleet.all_nodes);
  double gpus_w = 0;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    gpus_w += context.fleet.weight_of(gpu) * gpus[gpu].mean_w / nodes;
  const auto of_nodes = [&](double physics::NodePower::* part) {
    return mean_over_kinds(context.fleet, &FleetKind::all_nodes,
                           [&](const FleetKind& kind) { return kind.node.*part; });
  };
  std::vector<run::PowerPart> parts = {{"gpus", gpus_w},
                                       {"cpu", of_nodes(&physics::NodePower::cpu_w)},
                                       {"dram", of_nodes(&physics::NodePower::dram_w)},
                                       {"nics", of_nodes(&physics::NodePower::nics_w)},
                                       {"switches", of_nodes(&physics::NodePower::switches_w)},
                                       {"other", of_nodes(&physics::NodePower::other_w)},
                                       {"fans", context.record.fans_w()}};
  double losses_w = context.record.cluster_w() / nodes;
  for (const run::PowerPart& part : parts) losses_w -= part.watts;
  parts.push_back({"supply_losses", losses_w});
  return parts;
}

void fill_cluster_power(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                        run::ClusterPower& result, double& peak_w) {
  const bool steady = context.job.conditions.is_steady();
  const physics::PowerSeries series = context.record.cluster();
  const physics::SeriesSummary summary = physics::summarise(series, steady);
  result.interval_s = series.interval_s;
  result.watts = series.watts;
  const std::vector<double> means_w = physics::sliding_means(series, kPeakS, steady);
  result.lowest_w = *std::ranges::min_element(means_w);
  result.p95_w = physics::percentile_95(means_w);
  peak_w = *std::ranges::max_element(means_w);
  for (const physics::Ramp& ramp : summary.ramps)
    result.ramps.push_back({ramp.over_s, ramp.up_w_per_s, ramp.down_w_per_s});
  for (const physics::Band& band : summary.bands)
    result.bands.push_back({band.low_hz, band.high_hz, band.rms_w});
  result.dominant_hz = summary.dominant_hz;
  result.dominant_rms_w = summary.dominant_rms_w;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    result.smoothing_burnt_w += context.fleet.weight_of(gpu) * gpus[gpu].burnt_w;
}

run::KindPower kind_of(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                       size_t number, double step_s) {
  const FleetKind& kind = context.fleet.kinds[number];
  const spec::Node& node = spec::node_of_group(context.job.cluster, number);
  const auto mean = [&](double GpuRecord::* part) {
    return mean_over_ranks(context, gpus, kind, [part](const GpuRecord& it) { return it.*part; });
  };
  run::KindPower row{.gpu = node.gpu.name,
                     .node = node.name,
                     .mean_w_per_gpu = mean(&GpuRecord::mean_w),
                     .nodes_mean_w = context.record.kind_w(number),
                     .mean_gpu_c = mean(&GpuRecord::mean_c),
                     .mean_clock_mhz = mean(&GpuRecord::clock_hz) / kMegahertz,
                     .throttled_time_fraction = mean(&GpuRecord::throttled)};
  row.energy_j_per_step = row.nodes_mean_w * step_s;
  row.gpu_energy_j_per_step = row.mean_w_per_gpu * kind.ranks * step_s;
  const GpuRange alike = context.fleet.gpus_of(kind);
  for (size_t gpu = alike.first; gpu < alike.first + alike.count; ++gpu) {
    if (context.fleet.role[gpu] < 0) continue;
    row.peak_w_per_gpu = std::max(row.peak_w_per_gpu, gpus[gpu].peak_w);
    row.max_gpu_c = std::max(row.max_gpu_c, gpus[gpu].max_c);
  }
  return row;
}

/// Of unlike nodes alone.
std::vector<run::KindPower> kinds_of(const PowerContext& context,
                                     const std::vector<GpuRecord>& gpus, double step_s) {
  std::vector<run::KindPower> rows;
  if (context.fleet.kinds.size() == 1) return rows;
  for (size_t kind = 0; kind < context.fleet.kinds.size(); ++kind)
    rows.push_back(kind_of(context, gpus, kind, step_s));
  return rows;
}

void fill_power(const PowerContext& context, const std::vector<GpuRecord>& gpus, Powered& result) {
  run::Power& power = result.power;
  power.mean_w_per_gpu = mean_over_ranks(context, gpus, [](const auto& it) { return it.mean_w; });
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    if (context.fleet.role[gpu] >= 0)
      power.peak_w_per_gpu = std::max(power.peak_w_per_gpu, gpus[gpu].peak_w);
  power.p95_w_per_gpu = context.record.p95_w();
  power.cluster_mean_w = context.record.cluster_w();
  fill_cluster_power(context, gpus, result.cluster_power, power.cluster_peak_w);
  power.facility_mean_w = power.cluster_mean_w * context.job.conditions.pue;
  power.duration_s = context.record.duration_s();
  power.steps = context.loop.shown_steps();
  const double step_s = power.duration_s / power.steps;
  power.energy_j_per_step = power.cluster_mean_w * step_s;
  power.gpu_energy_j_per_step =
      power.mean_w_per_gpu * static_cast<double>(context.fleet.ranks) * step_s;
  power.tokens_per_j = tokens_per_step(context.job) / power.energy_j_per_step;
  power.kinds = kinds_of(context, gpus, step_s);
  power.gpu_parts = gpu_parts(context, gpus);
  power.node_parts = node_parts(context, gpus);
}

double largest_spread_k(const PowerContext& context, const std::vector<GpuRecord>& gpus) {
  double spread = 0;
  for (int64_t node = 0; node < context.fleet.nodes; ++node) {
    double low = 1e9, high = -1e9;
    for (int64_t i = 0; i < context.fleet.gpus_per_node; ++i) {
      const auto gpu = static_cast<size_t>(node * context.fleet.gpus_per_node + i);
      if (context.fleet.role[gpu] < 0) continue;
      low = std::min(low, gpus[gpu].mean_c);
      high = std::max(high, gpus[gpu].mean_c);
    }
    spread = std::max(spread, high - low);
  }
  return spread;
}

/// Ranks by the row of their slot.
std::vector<run::SlotRow> slot_rows(const PowerContext& context,
                                    const std::vector<GpuRecord>& gpus) {
  std::map<int, run::SlotRow> rows;
  std::map<int, double> weights;
  if (context.fleet.kinds.size() > 1) return {};  // rows of unlike chassis are not alike
  const std::vector<spec::Slot>& slots = context.job.cluster.node.slots;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (context.fleet.role[gpu] < 0) continue;
    const int number = slots[gpu % slots.size()].row;
    run::SlotRow& row = rows[number];
    const double weight = context.fleet.weight_of(gpu);
    weights[number] += weight;
    row.row = number;
    row.mean_gpu_c += weight * gpus[gpu].mean_c;
    row.mean_clock_mhz += weight * gpus[gpu].clock_hz / kMegahertz;
    row.max_gpu_c = std::max(row.max_gpu_c, gpus[gpu].max_c);
  }
  std::vector<run::SlotRow> result;
  for (auto& [number, row] : rows) {
    row.mean_gpu_c /= weights[number];
    row.mean_clock_mhz /= weights[number];
    result.push_back(row);
  }
  return result;
}

/// GPUs whose mean is above the temperature that the driver holds them at, with no clock left to
/// lower.
std::string above_limit(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                        const FleetKind& kind) {
  double hottest_c = 0;
  const GpuRange alike = context.fleet.gpus_of(kind);
  for (size_t gpu = alike.first; gpu < alike.first + alike.count; ++gpu)
    if (context.fleet.role[gpu] >= 0 && is_lowest(gpus[gpu].clock_hz, kind.gpu))
      hottest_c = std::max(hottest_c, gpus[gpu].mean_c);
  if (kind.gpu.target_c <= 0 || hottest_c < kind.gpu.target_c + kHeldWithinK) return {};
  return fmt::format(
      "temperature: the limit of {:.0f} C is broken: at {:.0f} MHz, the lowest clock, GPUs still "
      "get up to {:.0f} C hot",
      kind.gpu.target_c, kind.gpu.clocks.lowest_hz / kMegahertz, hottest_c);
}

/// A cap that a GPU of the kind draws more than at its lowest clock, as a sentence; else nothing.
std::string broken_cap(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                       const FleetKind& kind) {
  const Fleet& fleet = context.fleet;
  double drawn_w = 0, cap_w = 0, broken = 0;
  const GpuRange alike = fleet.gpus_of(kind);
  for (size_t gpu = alike.first; gpu < alike.first + alike.count; ++gpu) {
    const double limit_w = fleet.limits[gpu].cap_w;
    if (fleet.role[gpu] < 0 || limit_w <= 0 ||
        gpus[gpu].mean_w - gpus[gpu].burnt_w < kHeldToCap * limit_w)
      continue;
    broken += fleet.weight_of(gpu);
    if (gpus[gpu].mean_w / limit_w <= drawn_w / std::max(1.0, cap_w)) continue;
    drawn_w = gpus[gpu].mean_w;
    cap_w = limit_w;
  }
  if (broken == 0) return {};
  return fmt::format(
      "the power cap of {:.0f} W is broken: at {:.0f} MHz, the lowest clock, {} still "
      "{} up to {:.0f} W",
      cap_w, kind.gpu.clocks.lowest_hz / kMegahertz,
      broken == 1 ? "one GPU" : fmt::format("{:.0f} GPUs", broken), broken == 1 ? "draws" : "draw",
      drawn_w);
}

/// The highest clock that GPUs of a kind are let have.
double top_hz(const PowerContext& context, const FleetKind& kind) {
  const Fleet& fleet = context.fleet;
  const GpuRange alike = fleet.gpus_of(kind);
  double top_hz = 0;
  for (size_t gpu = alike.first; gpu < alike.first + alike.count; ++gpu) {
    if (fleet.role[gpu] < 0) continue;
    const double lock_hz = fleet.limits[gpu].lock_hz, most_hz = kind.gpu.clocks.highest_hz;
    top_hz = std::max(top_hz, lock_hz > 0 ? std::min(lock_hz, most_hz) : most_hz);
  }
  return top_hz;
}

/// What holds the clocks of a kind where they are, as a sentence.
std::string limit_of_kind(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                          const FleetKind& kind) {
  const physics::GpuPower& gpu = kind.gpu;
  if (const double off = context.loop.play().shut_down(context.fleet.gpus_of(kind)); off > 0)
    return fmt::format(
        "{} GPUs reach {:.0f} C, where hardware turns them off: the job would not run", off,
        gpu.shutdown_c);
  const auto share = [&](uint32_t reason) {
    for (size_t i = 0; i < kCountedReasons.size(); ++i)
      if (kCountedReasons[i] == reason)
        return mean_over_ranks(context, gpus, kind, [&](const auto& it) { return it.reasons[i]; });
    return 0.0;
  };
  constexpr double kWorthSaying = 0.001;
  const double top_mhz = top_hz(context, kind) / kMegahertz;
  const double braked = share(physics::kHwPowerBrake), capped = share(physics::kSwPowerCap),
               hot = share(physics::kSwThermalSlowdown) + share(physics::kHwThermalSlowdown);
  if (braked > kWorthSaying)
    return fmt::format("the power brake holds GPUs at {:.0f} MHz {:.1f} % of the time",
                       gpu.clocks.lowest_hz / kMegahertz, 100 * braked);
  if (const std::string hotter = above_limit(context, gpus, kind); !hotter.empty()) return hotter;
  if (hot > kWorthSaying)
    return fmt::format("temperature: GPUs are held at {:.0f} C, their limit, {:.1f} % of the time",
                       gpu.target_c, 100 * hot);
  if (const std::string broken = broken_cap(context, gpus, kind); !broken.empty()) return broken;
  if (capped > kWorthSaying)
    return fmt::format("power: the cap holds clocks below {:.0f} MHz {:.1f} % of the time", top_mhz,
                       100 * capped);
  if (share(physics::kApplicationsClocksSetting) > kWorthSaying)
    return "nothing but the clock that was asked for";
  return fmt::format("nothing: GPUs run at their highest clock, {:.0f} MHz", top_mhz);
}

/// Kind by kind: "A100-SXM4-80GB: nothing: ...; H100-SXM5-80GB: power: ...".
std::string thermal_limit(const PowerContext& context, const std::vector<GpuRecord>& gpus) {
  const Fleet& fleet = context.fleet;
  if (fleet.kinds.size() == 1) return limit_of_kind(context, gpus, fleet.kinds.front());
  std::string all;
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind)
    all += fmt::format("{}{}: {}", kind == 0 ? "" : "; ",
                       spec::node_of_group(context.job.cluster, kind).gpu.name,
                       limit_of_kind(context, gpus, fleet.kinds[kind]));
  return all;
}

void fill_thermal(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                  run::Thermal& thermal) {
  thermal.mean_gpu_c = mean_over_ranks(context, gpus, [](const auto& it) { return it.mean_c; });
  thermal.mean_memory_c =
      mean_over_ranks(context, gpus, [](const auto& it) { return it.mean_memory_c; });
  thermal.throttled_time_fraction =
      mean_over_ranks(context, gpus, [](const auto& it) { return it.throttled; });
  thermal.mean_clock_mhz =
      mean_over_ranks(context, gpus, [](const auto& it) { return it.clock_hz; }) / kMegahertz;
  thermal.lowest_clock_mhz = gpus.front().clock_hz / kMegahertz;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (context.fleet.role[gpu] < 0) continue;
    thermal.max_gpu_c = std::max(thermal.max_gpu_c, gpus[gpu].max_c);
    thermal.max_memory_c = std::max(thermal.max_memory_c, gpus[gpu].max_memory_c);
    thermal.lowest_clock_mhz = std::min(thermal.lowest_clock_mhz, gpus[gpu].clock_hz / kMegahertz);
  }
  thermal.rows = slot_rows(context, gpus);
  thermal.spread_c = largest_spread_k(context, gpus);
  thermal.inlet_c = context.record.inlet_c();
  thermal.fan_fraction = context.record.fan();
  for (size_t i = 0; i < kCountedReasons.size(); ++i)
    thermal.event_shares.push_back(
        {reason_name(kCountedReasons[i]),
         mean_over_ranks(context, gpus, [&](const auto& it) { return it.reasons[i]; })});
  thermal.limit = thermal_limit(context, gpus);
  for (const FleetKind& kind : context.fleet.kinds)
    thermal.shutdown_gpus += context.loop.play().shut_down(context.fleet.gpus_of(kind));
}

/// What a step takes longer than at `clocks_hz`; as good as nothing where slower GPUs set no pace.
double cost_beside(const PowerLoop& loop, std::span<const double> clocks_hz) {
  const double step_s = loop.timeline().step_s;
  return std::max(0.0, step_s - loop.step_s_at(clocks_hz).value_or(step_s));
}

void fill_clock_costs(const PowerContext& context, run::Thermal& thermal) {
  const Fleet& fleet = context.fleet;
  const std::vector<double>& clocks_hz = context.loop.clocks_hz();
  if (thermal.throttled_time_fraction > 0) {
    std::vector<double> asked_hz;
    for (int64_t rank = 0; rank < fleet.ranks; ++rank) {
      const size_t gpu = fleet.gpu_of(rank);
      const double lock_hz = fleet.limits[gpu].lock_hz;
      const FleetKind& kind = fleet.of_gpu(gpu);
      const double most_hz = kind.gpu.clocks.highest_hz;
      asked_hz.push_back((lock_hz > 0 ? std::min(lock_hz, most_hz) : most_hz) * fleet.speed[gpu] /
                         kind.pace);
    }
    thermal.throttling_cost_s = cost_beside(context.loop, asked_hz);
  }
  const double median_hz = base::upper_median(clocks_hz);
  std::vector<double> raised_hz = clocks_hz;
  constexpr double kRounding = 1e-9;  // of means over the same clock
  for (double& clock_hz : raised_hz)
    if (clock_hz < (1 - kRounding) * median_hz) clock_hz = median_hz;
  if (raised_hz != clocks_hz) thermal.straggler_cost_s = cost_beside(context.loop, raised_hz);
}

void fill_ranks(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                std::vector<run::Rank>& ranks) {
  for (int64_t rank = 0; rank < context.fleet.ranks; ++rank) {
    const size_t at = context.fleet.gpu_of(rank);
    run::Rank& row = ranks.emplace_back();
    row.rank = rank;
    row.mean_power_w = gpus[at].mean_w;
    row.peak_power_w = gpus[at].peak_w;
    row.mean_gpu_c = gpus[at].mean_c;
    row.max_gpu_c = gpus[at].max_c;
    row.mean_clock_mhz = gpus[at].clock_hz / kMegahertz;
    row.throttled_time_fraction = gpus[at].throttled;
  }
}

}  // namespace

void summarise_power(const PowerContext& context, Powered& result) {
  const std::vector<GpuRecord> gpus = context.record.gpus();
  fill_power(context, gpus, result);
  fill_thermal(context, gpus, result.thermal);
  if (context.clock_costs) fill_clock_costs(context, result.thermal);
  if (context.ranks) fill_ranks(context, gpus, result.ranks);
}

}  // namespace ergometer::engine
