#include "engine/views/power_record.h"

#include <algorithm>
#include <span>

#include "base/collection.h"

namespace ergometer::engine {
namespace {

constexpr double kBinW = 0.01;
constexpr size_t kMostSeriesSamples = 65536;

}  // namespace

PowerRecord::PowerRecord(const Fleet& fleet)
    : fleet_(fleet),
      sums_(static_cast<size_t>(fleet.gpus())),
      histogram_(1),
      kind_j_(fleet.kinds.size()) {}

void PowerRecord::add(const Tick& tick, const FleetHeat& heat) {
  // Ticks are of equal length: counted, not weighed, so that a clock that never moves is its mean.
  tick_s_ = tick.length_s;
  row_sums_.resize(tick.loads.size());
  for (size_t row = 0; row < row_sums_.size(); ++row) {
    row_sums_[row].memory_w += tick.loads[row].memory_w;
    row_sums_[row].link_w += tick.loads[row].link_w;
  }
  const std::span<const double> die_c = heat.surroundings().die_c, memory_c = heat.memory_c();
  for (size_t gpu = 0; gpu < sums_.size(); ++gpu) add_gpu(tick, die_c[gpu], memory_c[gpu], gpu);
  if (!peak_) peak_.emplace(kPeakS, tick_s_);
  if (first_w_.size() + 1 < peak_->samples()) first_w_.push_back(tick.watts);
  add_peaks(tick.watts);
  duration_s_ += tick_s_;
  cluster_j_ += tick_s_ * tick.cluster_w;
  cluster_w_.push_back(tick.cluster_w);
  for (size_t kind = 0; kind < kind_j_.size(); ++kind)
    kind_j_[kind] += tick_s_ * heat.kind_w(fleet_.kinds[kind]);
  for (int64_t node = 0; node < fleet_.nodes; ++node) {
    const double share =
        tick_s_ * fleet_.weight[static_cast<size_t>(node)] / static_cast<double>(fleet_.all_nodes);
    fan_ += share * heat.fan()[static_cast<size_t>(node)];
    inlet_c_ += share * heat.inlet_c()[static_cast<size_t>(node)];
    fans_w_ += share * heat.fans_w(node);
  }
}

void PowerRecord::add_gpu(const Tick& tick, double die_c, double memory_c, size_t gpu) {
  const physics::GpuPower& kind = fleet_.of_gpu(gpu).gpu;
  const physics::Load& load = tick.loads[fleet_.row_of(gpu)];
  const double v = tick.voltage[gpu], clock_hz = tick.clock_hz[gpu];
  GpuRecord& sum = sums_[gpu];
  sum.mean_w += tick.watts[gpu];
  sum.core_w += load.core_w * v * v;
  if (load.awake) sum.active_w += kind.active_w * v * v * clock_hz / kind.clocks.highest_hz;
  sum.burnt_w += tick.burnt_w[gpu];
  sum.clock_hz += clock_hz;
  sum.mean_c += die_c;
  sum.mean_memory_c += memory_c;
  if ((tick.reasons[gpu] & physics::kThrottleReasons) != 0) sum.throttled += 1;
  for (size_t i = 0; tick.reasons[gpu] != 0 && i < kCountedReasons.size(); ++i)
    if ((tick.reasons[gpu] & kCountedReasons[i]) != 0) sum.reasons[i] += 1;
  sum.max_c = std::max(sum.max_c, die_c);
  sum.max_memory_c = std::max(sum.max_memory_c, memory_c);
}

void PowerRecord::close_circle() {
  for (const std::vector<double>& watts : first_w_) add_peaks(watts);
  first_w_.clear();
}

/// Of the next tick: means over the windows that it fills, once ticks do.
void PowerRecord::add_peaks(std::span<const double> watts) {
  last_w_.resize(peak_->samples());
  last_w_[ticks_++ % last_w_.size()].assign(watts.begin(), watts.end());
  if (ticks_ < last_w_.size()) return;
  std::vector<const double*> oldest_first;
  for (size_t i = 0; i < last_w_.size(); ++i)
    oldest_first.push_back(last_w_[(ticks_ + i) % last_w_.size()].data());
  for (size_t gpu = 0; gpu < sums_.size(); ++gpu) {
    if (fleet_.role[gpu] < 0) continue;
    const physics::SlidingWindow::Means means =
        peak_->means([&](size_t i) { return oldest_first[i][gpu]; });
    const double seconds = fleet_.weight_of(gpu) * tick_s_ / 2;
    for (const double mean_w : {means.beginning_w, means.ending_w}) {
      sums_[gpu].peak_w = std::max(sums_[gpu].peak_w, mean_w);
      const auto bin = static_cast<size_t>(std::max(0.0, mean_w) / kBinW);
      if (bin >= histogram_.size()) histogram_.resize(bin + 1);
      histogram_[bin] += seconds;
    }
  }
}

double PowerRecord::p95_w() const {
  double all = 0, so_far = 0, peak_w = 0;
  for (const GpuRecord& gpu : gpus()) peak_w = std::max(peak_w, gpu.peak_w);
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
  for (size_t number = 0; number < means.size(); ++number) {
    GpuRecord& gpu = means[number];
    if (!row_sums_.empty()) {
      gpu.hbm_w = row_sums_[fleet_.row_of(number)].memory_w;
      gpu.links_w = row_sums_[fleet_.row_of(number)].link_w;
    }
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
