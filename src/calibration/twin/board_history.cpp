#include "calibration/twin/board_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"

namespace ergometer::calibration::twin {
namespace {

using run::Metric;

constexpr int64_t kShortestNs = 5'000'000'000;
constexpr size_t kMostStretches = 256;

/// How good a way to tell it is; 0: none.
int power_way(Metric metric) {
  if (metric == Metric::kAveragePower) return 3;
  if (metric == Metric::kPower) return 2;
  return metric == Metric::kInstantPower ? 1 : 0;
}
int heat_way(Metric metric) {
  if (metric == Metric::kGpuTemperature) return 2;
  return metric == Metric::kHotspotTemperature ? 1 : 0;
}

/// By heat or the node's power supply; at a power limit many jobs always are.
double is_held_back(double reasons) {
  constexpr int64_t kAll = 0x8 | 0x20 | 0x40 | 0x80;
  return (static_cast<int64_t>(reasons) & kAll) != 0 ? 1 : 0;
}

constexpr std::array kMetrics = {Metric::kPower,        Metric::kGpuTemperature,
                                 Metric::kSmClock,      Metric::kPowerLimit,
                                 Metric::kEventReasons, Metric::kInletTemperature};
static_assert(kMetrics.size() == BoardHistory::kQuantities);

/// One without an index is where nothing else is.
std::string place_of(const run::Device& device) {
  return fmt::format(
      "{} {} {}", run::kind_name(device.kind), device.host,
      device.index < 0 ? device.uuid + device.name : fmt::format("{}", device.index));
}

}  // namespace

BoardHistory::BoardHistory(int64_t keep_ns)
    : stretch_ns_(std::max(kShortestNs, keep_ns / static_cast<int64_t>(kMostStretches))),
      keep_ns_(keep_ns) {}

void BoardHistory::add(const std::vector<run::Device>& devices,
                       const std::vector<run::ReadingCell>& cells) {
  for (size_t i = devices_.size(); i < devices.size(); ++i) {
    devices_.push_back(devices[i]);
    readings_.emplace_back();
    const auto [at, is_new] = places_.emplace(place_of(devices[i]), i);
    if (!is_new) readings_[at->second].replaced = true;
    at->second = i;
  }
  for (const run::ReadingCell& cell : cells) add(cell);
}

/// Readings come nearly in order: a late one goes where it belongs, one that is too late nowhere.
BoardHistory::Stretch& BoardHistory::stretch_at(Readings& readings, int64_t time_ns) {
  const int64_t start = time_ns / stretch_ns_ * stretch_ns_;
  auto& all = readings.stretches;
  auto at = all.end();
  while (at != all.begin() && std::prev(at)->start_ns >= start) --at;
  if (at != all.end() && at->start_ns == start) return *at;
  return *all.insert(at, Stretch{start, {}, {}});
}

void BoardHistory::add(const run::ReadingCell& cell) {
  const run::Device& device = devices_[cell.device];
  Readings& readings = readings_[cell.device];
  if (first_ns_ == 0) first_ns_ = cell.time_ns;
  if (cell.time_ns < latest_ns_ - keep_ns_) return;
  latest_ns_ = std::max(latest_ns_, cell.time_ns);
  const auto put = [&](Quantity of, double value) {
    Stretch& stretch = stretch_at(readings, cell.time_ns);
    stretch.sums[of] += value;
    ++stretch.counts[of];
  };
  const auto put_best = [&](Quantity of, int way, int& best) {
    if (way < best) return;
    best = way;
    put(of, cell.value);
  };
  if (device.kind == run::DeviceKind::kGpu) {
    if (const int way = power_way(cell.metric)) put_best(kWatts, way, readings.power_way);
    if (const int way = heat_way(cell.metric)) put_best(kCelsius, way, readings.heat_way);
    if (cell.metric == Metric::kSmClock) put(kMegahertz, cell.value);
    if (cell.metric == Metric::kPowerLimit) put(kLimit, cell.value);
    if (cell.metric == Metric::kEventReasons) put(kHeldBack, is_held_back(cell.value));
  } else if (cell.metric == Metric::kInletTemperature) {
    put(kInlet, cell.value);
  }
  while (!readings.stretches.empty() &&
         readings.stretches.front().start_ns < latest_ns_ - keep_ns_ - stretch_ns_)
    readings.stretches.pop_front();
}

std::optional<double> BoardHistory::mean(size_t device, Quantity of, int64_t from_ns,
                                         int64_t to_ns) const {
  double sum = 0;
  int64_t count = 0;
  const auto& all = readings_[device].stretches;
  for (auto it = all.rbegin(); it != all.rend() && it->start_ns >= from_ns; ++it) {
    if (it->start_ns + stretch_ns_ > to_ns) continue;
    sum += it->sums[of];
    count += it->counts[of];
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

run::DeviceLog BoardHistory::log(int64_t from_ns, int64_t to_ns,
                                 const std::deque<int64_t>& left_out) const {
  run::DeviceLog log;
  log.source = "recorded";
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (is_replaced(i)) continue;
    run::Device device = devices_[i];
    if (device.rank < 0) device.rank = device.index;
    for (size_t q = 0; q < kQuantities; ++q) {
      run::Series series;
      series.metric = kMetrics[q];
      for (const Stretch& it : readings_[i].stretches)
        if (it.counts[q] > 0 && it.start_ns >= from_ns && it.start_ns + stretch_ns_ <= to_ns &&
            q != kHeldBack && !base::contains(left_out, it.start_ns))
          series.samples.push_back({it.start_ns + stretch_ns_ / 2, it.sums[q] / it.counts[q]});
      if (!series.samples.empty()) device.series.push_back(std::move(series));
    }
    if (!device.series.empty()) log.devices.push_back(std::move(device));
  }
  return log;
}

}  // namespace ergometer::calibration::twin
