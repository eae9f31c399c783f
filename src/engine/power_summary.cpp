#include "engine/power_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/summary.h"
#include "run/event_reasons.h"

namespace ergometer::engine {
namespace {

constexpr double kMegahertz = 1e6;
constexpr size_t kMostSeriesSamples = 65536;
constexpr double kSeriesInterval = 0.1;

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

/// The power that 95 % of GPU time does not exceed.
double percentile_95(std::vector<PowerSample> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const PowerSample& a, const PowerSample& b) { return a.watts < b.watts; });
  double all = 0, so_far = 0;
  for (const PowerSample& sample : samples) all += sample.weight;
  for (const PowerSample& sample : samples)
    if ((so_far += sample.weight) >= 0.95 * all) return sample.watts;
  return 0;
}

/// What smoothing burns in all GPUs.
double cluster_burn_w(const PowerContext& context) {
  double burn_w = 0;
  for (size_t gpu = 0; gpu < context.fleet.burn_w.size(); ++gpu)
    burn_w += context.fleet.weight_of(gpu) * context.fleet.burn_w[gpu];
  return burn_w;
}

/// A GPU's mean power by what takes it. Core work is told apart in the proportions of its energies.
std::vector<run::PowerPart> gpu_parts(const PowerContext& context,
                                      const std::vector<GpuRecord>& gpus, double step_s) {
  physics::Energy work;
  const auto roles = static_cast<double>(context.activity.roles.size());
  for (const RoleActivity& role : context.activity.roles)
    for (const physics::Energy& slice : role.slices) work += (1 / roles) * slice;
  const double total_w = mean_over_ranks(context, gpus, [](const auto& it) { return it.mean_w; });
  const double core_w = mean_over_ranks(context, gpus, [](const auto& it) { return it.core_w; });
  const double active_w =
      mean_over_ranks(context, gpus, [](const auto& it) { return it.active_w; });
  const double per_core_j = work.core_j() > 0 ? core_w / work.core_j() : 0;
  std::vector<run::PowerPart> parts = {{"tensor", work.tensor_j * per_core_j},
                                       {"vector", work.vector_j * per_core_j},
                                       {"cache", work.cache_j * per_core_j},
                                       {"hbm", work.memory_j / step_s},
                                       {"links", work.link_j / step_s},
                                       {"clock_tree", active_w},
                                       {"constant", context.fleet.kind.constant_w}};
  const double burn_w = cluster_burn_w(context) / static_cast<double>(context.fleet.ranks);
  if (burn_w > 0) parts.push_back({"smoothing", burn_w});
  double leakage_w = total_w;
  for (const run::PowerPart& part : parts) leakage_w -= part.watts;
  parts.push_back({"leakage", leakage_w});
  return parts;
}

std::vector<run::PowerPart> node_parts(const PowerContext& context,
                                       const std::vector<GpuRecord>& gpus) {
  const physics::NodePower& node = context.fleet.node;
  const auto nodes = static_cast<double>(context.fleet.all_nodes);
  double gpus_w = 0;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    gpus_w += context.fleet.weight_of(gpu) * gpus[gpu].mean_w / nodes;
  std::vector<run::PowerPart> parts = {{"gpus", gpus_w},
                                       {"cpu", node.cpu_w},
                                       {"dram", node.dram_w},
                                       {"nics", node.nics_w},
                                       {"switches", node.switches_w},
                                       {"other", node.other_w},
                                       {"fans", context.record.fans_w()}};
  double losses_w = context.record.cluster_w() / nodes;
  for (const run::PowerPart& part : parts) losses_w -= part.watts;
  parts.push_back({"supply_losses", losses_w});
  return parts;
}

/// Energy of a step that repeats, from its start on.
class RepeatedStep {
 public:
  explicit RepeatedStep(const physics::PowerSeries& step) : interval_s_(step.interval_s) {
    sums_j_.push_back(0);
    for (const double watts : step.watts) sums_j_.push_back(sums_j_.back() + watts * interval_s_);
    length_s_ = interval_s_ * static_cast<double>(step.watts.size());
  }
  double energy_j(double until_s) const {
    const double steps = std::floor(until_s / length_s_);
    const double at = (until_s - steps * length_s_) / interval_s_;
    const auto whole = std::min(static_cast<size_t>(at), sums_j_.size() - 2);
    const double part = std::min(1.0, at - static_cast<double>(whole));
    return steps * sums_j_.back() + sums_j_[whole] + part * (sums_j_[whole + 1] - sums_j_[whole]);
  }
  double mean_w() const { return sums_j_.back() / length_s_; }

 private:
  double interval_s_ = 0, length_s_ = 0;
  std::vector<double> sums_j_;
};

/// The cluster over the whole time: the shape of one step on top of each period's mean.
physics::PowerSeries whole_series(const PowerContext& context, const physics::PowerSeries& step) {
  const double duration_s = context.record.duration_s();
  physics::PowerSeries series;
  series.interval_s = std::max(std::min(kSeriesInterval, duration_s),
                               duration_s / static_cast<double>(kMostSeriesSamples));
  const RepeatedStep shape(step);
  const std::vector<Period>& periods = context.record.periods();
  const auto samples =
      std::max<size_t>(1, static_cast<size_t>(duration_s / series.interval_s + 1e-9));
  size_t period = 0;
  for (size_t i = 0; i < samples; ++i) {
    const double from_s = static_cast<double>(i) * series.interval_s;
    const double to_s = from_s + series.interval_s;
    while (period + 1 < periods.size() && periods[period + 1].start_s <= (from_s + to_s) / 2)
      ++period;
    const double shape_w = (shape.energy_j(to_s) - shape.energy_j(from_s)) / series.interval_s;
    series.watts.push_back(periods[period].cluster_w * shape_w / shape.mean_w());
  }
  return series;
}

/// The highest mean over as long as a GPU's peak lasts; a step shorter than that repeats.
double sustained_peak_w(const physics::PowerSeries& series, bool repeats) {
  const size_t count = series.watts.size();
  const auto wanted =
      static_cast<size_t>(std::max(1.0, std::ceil(kPeakS / series.interval_s - 1e-9)));
  const size_t length = std::min(count, wanted);
  double window_j = 0, highest_j = 0;
  const size_t end = repeats ? count + length - 1 : count;
  for (size_t i = 0; i < end; ++i) {
    window_j += series.watts[i % count];
    if (i >= length) window_j -= series.watts[i - length];
    if (i + 1 >= length) highest_j = std::max(highest_j, window_j);
  }
  return highest_j / static_cast<double>(length);
}

void fill_cluster_power(const PowerContext& context, const StepProfile& profile,
                        run::ClusterPower& result, double& peak_w) {
  const bool steady = context.job.conditions.duration_s <= 0;
  const physics::PowerSeries series =
      steady ? profile.cluster : whole_series(context, profile.cluster);
  const physics::SeriesSummary summary = physics::summarise(series, steady);
  result.interval_s = series.interval_s;
  result.watts = series.watts;
  result.lowest_w = summary.lowest_w;
  result.p95_w = summary.p95_w;
  for (const physics::Ramp& ramp : summary.ramps)
    result.ramps.push_back({ramp.over_s, ramp.up_w_per_s, ramp.down_w_per_s});
  for (const physics::Band& band : summary.bands)
    result.bands.push_back({band.low_hz, band.high_hz, band.rms_w});
  result.dominant_hz = summary.dominant_hz;
  result.dominant_rms_w = summary.dominant_rms_w;
  result.smoothing_burnt_w = cluster_burn_w(context);
  peak_w = sustained_peak_w(series, steady);
}

void fill_power(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                const FleetStep& step, const StepProfile& profile, Powered& result) {
  run::Power& power = result.power;
  power.mean_w_per_gpu = mean_over_ranks(context, gpus, [](const auto& it) { return it.mean_w; });
  power.p95_w_per_gpu = percentile_95(profile.samples);
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    if (context.fleet.role[gpu] >= 0)
      power.peak_w_per_gpu = std::max(power.peak_w_per_gpu, gpus[gpu].peak_w);
  power.cluster_mean_w = context.record.cluster_w();
  fill_cluster_power(context, profile, result.cluster_power, power.cluster_peak_w);
  power.facility_mean_w = power.cluster_mean_w * context.job.conditions.pue;
  const double step_s = context.record.duration_s() / context.record.steps();
  power.energy_j_per_step = power.cluster_mean_w * step_s;
  power.gpu_energy_j_per_step =
      power.mean_w_per_gpu * static_cast<double>(context.fleet.ranks) * step_s;
  power.tokens_per_j = tokens_per_step(context.job) / power.energy_j_per_step;
  power.gpu_parts = gpu_parts(context, gpus, step.step_s);
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
std::vector<run::SlotRow> slot_rows(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                                    const StepProfile& profile) {
  std::map<int, run::SlotRow> rows;
  std::map<int, double> weights;
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
    row.max_gpu_c = std::max({row.max_gpu_c, gpus[gpu].max_c, profile.max_c[gpu]});
  }
  std::vector<run::SlotRow> result;
  for (auto& [number, row] : rows) {
    row.mean_gpu_c /= weights[number];
    row.mean_clock_mhz /= weights[number];
    result.push_back(row);
  }
  return result;
}

/// What holds the clocks where they are, as a sentence.
std::string thermal_limit(const PowerContext& context, const run::Thermal& thermal) {
  const physics::GpuPower& gpu = context.fleet.kind;
  if (context.shut_down > 0)
    return fmt::format(
        "{} GPUs reach {:.0f} C, where hardware turns them off: the job would not run",
        context.shut_down, gpu.shutdown_c);
  const auto share = [&](uint32_t reason) {
    for (size_t i = 0; i < kCountedReasons.size(); ++i)
      if (kCountedReasons[i] == reason) return thermal.event_shares[i].fraction;
    return 0.0;
  };
  constexpr double kWorthSaying = 0.001;
  const double top_mhz = gpu.clocks.highest_hz / kMegahertz;
  const double braked = share(physics::kHwPowerBrake), capped = share(physics::kSwPowerCap),
               hot = share(physics::kSwThermalSlowdown) + share(physics::kHwThermalSlowdown);
  if (braked > kWorthSaying)
    return fmt::format("the power brake holds GPUs at {:.0f} MHz {:.1f} % of the time",
                       gpu.clocks.lowest_hz / kMegahertz, 100 * braked);
  if (hot > kWorthSaying)
    return fmt::format("temperature: GPUs are held at {:.0f} C, their limit, {:.1f} % of the time",
                       gpu.target_c, 100 * hot);
  if (capped > kWorthSaying)
    return fmt::format("power: the cap holds clocks below {:.0f} MHz {:.1f} % of the time", top_mhz,
                       100 * capped);
  if (share(physics::kApplicationsClocksSetting) > kWorthSaying)
    return "nothing but the clock that was asked for";
  return fmt::format("nothing: GPUs run at their highest clock, {:.0f} MHz", top_mhz);
}

void fill_thermal(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                  const StepProfile& profile, run::Thermal& thermal) {
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
    thermal.max_gpu_c = std::max({thermal.max_gpu_c, gpus[gpu].max_c, profile.max_c[gpu]});
    thermal.max_memory_c =
        std::max({thermal.max_memory_c, gpus[gpu].max_memory_c, profile.max_memory_c[gpu]});
    thermal.lowest_clock_mhz = std::min(thermal.lowest_clock_mhz, gpus[gpu].clock_hz / kMegahertz);
  }
  thermal.rows = slot_rows(context, gpus, profile);
  thermal.spread_c = largest_spread_k(context, gpus);
  thermal.inlet_c = context.record.inlet_c();
  thermal.fan_fraction = context.record.fan();
  for (size_t i = 0; i < kCountedReasons.size(); ++i)
    thermal.event_shares.push_back(
        {reason_name(kCountedReasons[i]),
         mean_over_ranks(context, gpus, [&](const auto& it) { return it.reasons[i]; })});
  thermal.limit = thermal_limit(context, thermal);
  if (!context.settled) thermal.limit += "; clocks and temperatures did not come to rest";
}

void fill_ranks(const PowerContext& context, const std::vector<GpuRecord>& gpus,
                const StepProfile& profile, std::vector<run::Rank>& ranks) {
  for (int64_t rank = 0; rank < context.fleet.ranks; ++rank) {
    const size_t at = context.fleet.gpu_of(rank);
    run::Rank& row = ranks.emplace_back();
    row.rank = rank;
    row.mean_power_w = gpus[at].mean_w;
    row.peak_power_w = gpus[at].peak_w;
    row.mean_gpu_c = gpus[at].mean_c;
    row.max_gpu_c = std::max(gpus[at].max_c, profile.max_c[at]);
    row.mean_clock_mhz = gpus[at].clock_hz / kMegahertz;
    row.throttled_time_fraction = gpus[at].throttled;
  }
}

}  // namespace

void summarise_power(const PowerContext& context, const FleetStep& step, const StepProfile& profile,
                     Powered& result) {
  const std::vector<GpuRecord> gpus = context.record.gpus();
  fill_power(context, gpus, step, profile, result);
  fill_thermal(context, gpus, profile, result.thermal);
  if (context.ranks) fill_ranks(context, gpus, profile, result.ranks);
}

}  // namespace ergometer::engine
