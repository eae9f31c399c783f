#include "engine/views/telemetry_view.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/collection.h"

namespace ergometer::engine {
namespace {

constexpr double kMostReadings = 4096, kMostExactRows = 65536;

bool all_sensors_known(const Fleet& fleet) {
  return std::ranges::all_of(fleet.kinds,
                             [](const FleetKind& kind) { return kind.gpu.reading_period_s > 0; });
}

}  // namespace

TelemetryView::TelemetryView(const Fleet& fleet, const spec::Job& job,
                             std::span<const int64_t> ranks, bool bands, double span_s)
    : fleet_(fleet),
      exact_(job.conditions.sensor == spec::Sensor::kNone || !all_sensors_known(fleet)),
      bands_(bands),
      ranks_(ranks.begin(), ranks.end()) {
  double period_s = 0;
  for (const FleetKind& kind : fleet.kinds) {
    instant_.push_back(physics::instant_sensor(kind.gpu));
    average_.push_back(physics::average_sensor(kind.gpu));
    period_s = std::max(period_s, instant_.back().period_s);
    longest_window_s_ =
        std::max({longest_window_s_, instant_.back().window_s, average_.back().window_s});
  }
  period_s_ = exact_ ? span_s / kMostExactRows : std::max(period_s, span_s / kMostReadings);
  std::vector<bool> metered(static_cast<size_t>(fleet.gpus()), false);
  for (const int64_t rank : ranks_) metered[fleet.gpu_of(rank)] = true;
  for (size_t gpu = 0; gpu < metered.size(); ++gpu)
    if (metered[gpu] || (bands_ && fleet.role[gpu] >= 0)) gpus_.push_back(gpu);
  past_w_.resize(gpus_.size());
  readings_.resize(gpus_.size());
}

void TelemetryView::remember(const Tick& tick) {
  const auto ticks = static_cast<size_t>(std::ceil(longest_window_s_ / tick.length_s)) + 2;
  const bool anew = tick_s_ != tick.length_s;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    std::vector<double>& past_w = past_w_[i];
    if (anew) past_w.assign(ticks, idle_w_.empty() ? tick.watts[gpus_[i]] : idle_w_[i]);
    past_w[anew ? 0 : past_at_] = tick.watts[gpus_[i]];
  }
  past_at_ = anew ? 1 : (past_at_ + 1) % ticks;
  tick_s_ = tick.length_s;
}

/// Over `window_s` seconds up to `until_s` seconds into the last tick.
double TelemetryView::mean_w(size_t metered, double window_s, double until_s) const {
  const std::vector<double>& past_w = past_w_[metered];
  double joules = 0, left_s = window_s, part_s = until_s;
  for (size_t i = 1; i <= past_w.size() && left_s > 0; ++i) {
    const double seconds = std::min(left_s, part_s);
    joules += seconds * past_w[(past_at_ + past_w.size() - i) % past_w.size()];
    left_s -= seconds;
    part_s = tick_s_;
  }
  return joules / (window_s - std::max(0.0, left_s));
}

run::Telemetry TelemetryView::reading(size_t metered, double time_s, const Tick& tick,
                                      const FleetHeat& heat) const {
  const size_t gpu = gpus_[metered];
  run::Telemetry row{.time_ns = std::llround(time_s * 1e9),
                     .power_w = tick.watts[gpu],
                     .average_power_w = tick.watts[gpu],
                     .gpu_c = heat.surroundings().die_c[gpu],
                     .memory_c = heat.memory_c()[gpu],
                     .sm_clock_mhz = tick.clock_hz[gpu] / 1e6,
                     .event_reasons = static_cast<int64_t>(tick.reasons[gpu])};
  if (exact_) return row;
  const double until_s = std::clamp(time_s - tick.start_s, 0.0, tick.length_s);
  const double gain = fleet_.silicon[gpu].sensor_gain;
  const size_t kind = fleet_.kind_of(gpu);
  const auto milli = [](double value) { return std::round(value * 1e3) / 1e3; };
  row.power_w = milli(gain * mean_w(metered, instant_[kind].window_s, until_s));
  row.average_power_w = milli(gain * mean_w(metered, average_[kind].window_s, until_s));
  row.gpu_c = physics::reported_c(row.gpu_c);
  row.memory_c = physics::reported_c(row.memory_c);
  row.sm_clock_mhz = milli(row.sm_clock_mhz);
  return row;
}

void TelemetryView::read(double time_s, const Tick& tick, const FleetHeat& heat) {
  std::vector<run::Telemetry> now(gpus_.size());
  for (size_t i = 0; i < gpus_.size(); ++i) {
    now[i] = reading(i, time_s, tick, heat);
    if (!ranks_.empty()) readings_[i].push_back(now[i]);
  }
  if (bands_) add_bands(now, gpus_, fleet_, band_rows_);
}

void TelemetryView::lead_in(const Tick& tick) { remember(tick); }

void TelemetryView::lead_in_idle(const FleetHeat& heat) {
  for (const size_t gpu : gpus_) {
    const physics::GpuPower& kind = fleet_.of_gpu(gpu).gpu;
    idle_w_.push_back(kind.power_w(kind.clocks.lowest_hz, heat.surroundings().die_c[gpu],
                                   {.awake = false}, fleet_.silicon[gpu]));
  }
}

void TelemetryView::add(const Tick& tick, const FleetHeat& heat) {
  remember(tick);
  constexpr double kTickRounding = 1e-9;
  if (exact_) {
    if (tick.end_s() + kTickRounding < static_cast<double>(next_) * period_s_) return;
    next_ = static_cast<int64_t>(tick.end_s() / period_s_ + kTickRounding) + 1;
    read(tick.end_s(), tick, heat);
    return;
  }
  for (; static_cast<double>(next_) * period_s_ <= tick.end_s() + kTickRounding; ++next_)
    read(static_cast<double>(next_) * period_s_, tick, heat);
}

void TelemetryView::add_ranks(std::span<const int64_t> ranks) {
  ERGOMETER_CHECK(bands_ && !ranks_.empty(), "readings of all GPUs are kept");
  ranks_.insert(ranks_.end(), ranks.begin(), ranks.end());
  base::sort_unique(ranks_);
}

std::vector<run::Telemetry> TelemetryView::rows() const {
  std::vector<run::Telemetry> rows;
  for (const int64_t rank : ranks_) {
    const auto found = std::ranges::lower_bound(gpus_, fleet_.gpu_of(rank));
    for (run::Telemetry row : readings_[static_cast<size_t>(found - gpus_.begin())]) {
      row.rank = rank;
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<run::TelemetryBand> TelemetryView::bands() const {
  std::vector<run::TelemetryBand> rows = band_rows_;
  sort_bands(rows);
  return rows;
}

}  // namespace ergometer::engine
