#include "engine/views/power_record.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"

namespace ergometer::engine {
namespace {

constexpr double kBinW = 0.01;
constexpr size_t kMostSeriesSamples = 65536;

}  // namespace

PowerRecord::PowerRecord(const Fleet& fleet)
    : fleet_(fleet),
      sums_(static_cast<size_t>(fleet.gpus())),
      last_w_(sums_.size()),
      histogram_(1) {}

void PowerRecord::add(const Tick& tick, const FleetHeat& heat) {
  const auto die_c = heat.surroundings().die_c;
  const auto memory_c = heat.memory_c();
  const double length_s = tick.length_s;
  // Ticks are of equal length: counted, not weighed, so that a clock that never moves is its mean.
  tick_s_ = length_s;
  for (size_t gpu = 0; gpu < sums_.size(); ++gpu) {
    GpuRecord& sum = sums_[gpu];
    sum.mean_w += tick.watts[gpu];
    sum.core_w += tick.core_w[gpu];
    sum.active_w += tick.active_w[gpu];
    sum.burnt_w += tick.burnt_w[gpu];
    sum.hbm_w += tick.hbm_w[gpu];
    sum.links_w += tick.links_w[gpu];
    sum.clock_hz += tick.clock_hz[gpu];
    sum.mean_c += die_c[gpu];
    sum.mean_memory_c += memory_c[gpu];
    if ((tick.reasons[gpu] & physics::kThrottleReasons) != 0) sum.throttled += 1;
    for (size_t i = 0; i < kCountedReasons.size(); ++i)
      if ((tick.reasons[gpu] & kCountedReasons[i]) != 0) sum.reasons[i] += 1;
    sum.max_c = std::max(sum.max_c, die_c[gpu]);
    sum.max_memory_c = std::max(sum.max_memory_c, memory_c[gpu]);
  }
  add_peaks(tick);
  duration_s_ += length_s;
  cluster_j_ += length_s * tick.cluster_w;
  cluster_w_.push_back(tick.cluster_w);
  for (int64_t node = 0; node < fleet_.nodes; ++node) {
    const double share =
        length_s * fleet_.weight[static_cast<size_t>(node)] / static_cast<double>(fleet_.all_nodes);
    fan_ += share * heat.fan()[static_cast<size_t>(node)];
    inlet_c_ += share * heat.inlet_c()[static_cast<size_t>(node)];
    fans_w_ += share * heat.fans_w(node);
  }
}

void PowerRecord::remember(const Tick& tick) {
  const auto length = static_cast<size_t>(std::max(1.0, std::ceil(kPeakS / tick.length_s - 1e-9)));
  for (size_t gpu = 0; gpu < sums_.size(); ++gpu) {
    last_w_[gpu].resize(length);
    last_w_[gpu][ring_at_] = tick.watts[gpu];
  }
  ring_at_ = (ring_at_ + 1) % length;
  ring_filled_ = std::min(ring_filled_ + 1, length);
}

/// Means over the ticks of a peak, once there are as many.
void PowerRecord::add_peaks(const Tick& tick) {
  remember(tick);
  for (size_t gpu = 0; gpu < sums_.size(); ++gpu) {
    const std::vector<double>& ring = last_w_[gpu];
    if (ring_filled_ < ring.size() || fleet_.role[gpu] < 0) continue;
    double watts = base::sum(ring, [&](double w) { return w / static_cast<double>(ring.size()); });
    sums_[gpu].peak_w = std::max(sums_[gpu].peak_w, watts);
    const auto bin = static_cast<size_t>(std::max(0.0, watts) / kBinW);
    if (bin >= histogram_.size()) histogram_.resize(bin + 1);
    histogram_[bin] += fleet_.weight_of(gpu) * tick.length_s;
  }
}

double PowerRecord::p95_w() const {
  double all = 0, so_far = 0, peak_w = 0;
  for (const GpuRecord& sum : sums_) peak_w = std::max(peak_w, sum.peak_w);
  for (const double weight : histogram_) all += weight;
  for (size_t bin = 0; bin < histogram_.size(); ++bin)
    if ((so_far += histogram_[bin]) >= 0.95 * all)
      return std::min(peak_w, kBinW * static_cast<double>(bin + 1));
  return peak_w;
}

physics::PowerSeries PowerRecord::cluster() const {
  const size_t count = cluster_w_.size();
  const size_t together = (count + kMostSeriesSamples - 1) / kMostSeriesSamples;
  physics::PowerSeries series{.interval_s = tick_s_ * static_cast<double>(together), .watts = {}};
  for (size_t i = 0; i + together <= count; i += together) {
    double sum = 0;
    for (size_t j = 0; j < together; ++j) sum += cluster_w_[i + j];
    series.watts.push_back(sum / static_cast<double>(together));
  }
  return series;
}

std::vector<GpuRecord> PowerRecord::gpus() const {
  std::vector<GpuRecord> means = sums_;
  const auto ticks = static_cast<double>(cluster_w_.size());
  for (GpuRecord& gpu : means) {
    for (double* value :
         {&gpu.mean_w, &gpu.core_w, &gpu.active_w, &gpu.burnt_w, &gpu.hbm_w, &gpu.links_w,
          &gpu.clock_hz, &gpu.throttled, &gpu.mean_c, &gpu.mean_memory_c})
      *value /= ticks;
    for (double& share : gpu.reasons) share /= ticks;
    if (gpu.peak_w <= 0) gpu.peak_w = gpu.mean_w;  // shorter than a peak, or no rank
  }
  return means;
}

}  // namespace ergometer::engine
