#include "engine/views/power_record.h"

#include <algorithm>
#include <span>

#include "base/widths.h"

namespace ergometer::engine {
namespace {

constexpr double kBinW = 0.01;
constexpr size_t kMostSeriesSamples = 65536;

// Loops over arrays of one number a GPU, for vectors.

ERGOMETER_WIDTHS void add_each(const double* __restrict values, double* __restrict sums, size_t n) {
  for (size_t i = 0; i < n; ++i) sums[i] += values[i];
}

ERGOMETER_WIDTHS void raise_each(const double* __restrict values, double* __restrict most,
                                 size_t n) {
  for (size_t i = 0; i < n; ++i) most[i] = most[i] < values[i] ? values[i] : most[i];
}

/// What the work of GPUs takes, by row: on the core's rail, and the clock tree at `highest_hz`.
struct Rows {
  const int32_t* role;
  const double *core_w, *active_w;
  double highest_hz;
};
ERGOMETER_WIDTHS void add_core(const Rows& given, const double* __restrict voltage,
                               const double* __restrict clock_hz, double* __restrict core_w,
                               double* __restrict active_w, size_t n) {
  const Rows rows = given;
  for (size_t i = 0; i < n; ++i) {
    const int32_t row = rows.role[i] + 1;
    const double v = voltage[i];
    core_w[i] += rows.core_w[row] * v * v;
    active_w[i] += rows.active_w[row] * v * v * clock_hz[i] / rows.highest_hz;
  }
}

ERGOMETER_WIDTHS uint32_t any_of(const uint32_t* reasons, size_t n) {
  uint32_t any = 0;
  for (size_t i = 0; i < n; ++i) any |= reasons[i];
  return any;
}

ERGOMETER_WIDTHS void count_each(uint32_t mask, const uint32_t* __restrict reasons,
                                 double* __restrict counts, size_t n) {
  for (size_t i = 0; i < n; ++i) counts[i] += (reasons[i] & mask) != 0 ? 1.0 : 0.0;
}

ERGOMETER_WIDTHS void find_bins(const double* __restrict watts, int32_t* __restrict bins,
                                size_t n) {
  for (size_t i = 0; i < n; ++i)
    bins[i] = static_cast<int32_t>((watts[i] > 0 ? watts[i] : 0) / kBinW);
}

}  // namespace

PowerRecord::PowerRecord(const Fleet& fleet)
    : fleet_(fleet), histogram_(1), kind_j_(fleet.kinds.size()) {
  const auto gpus = static_cast<size_t>(fleet.gpus());
  for (std::vector<double>* values :
       {&sums_.watts, &sums_.core_w, &sums_.active_w, &sums_.burnt_w, &sums_.clock_hz,
        &sums_.throttled, &sums_.die_c, &sums_.memory_c, &sums_.peak_w, &beginning_w_, &ending_w_})
    values->assign(gpus, 0.0);
  for (std::vector<double>& counts : sums_.reasons) counts.assign(gpus, 0.0);
  for (std::vector<double>* values : {&sums_.max_c, &sums_.max_memory_c})
    values->assign(gpus, GpuRecord{}.max_c);
  bins_.resize(gpus);
  for (size_t gpu = 0; gpu < gpus; ++gpu)
    ranks_.push_back(fleet.role[gpu] < 0 ? 0 : fleet.weight_of(gpu));
}

void PowerRecord::add(const Tick& tick, const FleetHeat& heat) {
  // Ticks are of equal length: counted, not weighed, so that a clock that never moves is its mean.
  tick_s_ = tick.length_s;
  row_sums_.resize(tick.loads.size());
  for (size_t row = 0; row < row_sums_.size(); ++row) {
    row_sums_[row].memory_w += tick.loads[row].memory_w;
    row_sums_[row].link_w += tick.loads[row].link_w;
  }
  const std::span<const double> die_c = heat.surroundings().die_c, memory_c = heat.memory_c();
  const size_t gpus = ranks_.size();
  add_each(tick.watts.data(), sums_.watts.data(), gpus);
  add_each(tick.burnt_w.data(), sums_.burnt_w.data(), gpus);
  add_each(tick.clock_hz.data(), sums_.clock_hz.data(), gpus);
  add_each(die_c.data(), sums_.die_c.data(), gpus);
  add_each(memory_c.data(), sums_.memory_c.data(), gpus);
  raise_each(die_c.data(), sums_.max_c.data(), gpus);
  raise_each(memory_c.data(), sums_.max_memory_c.data(), gpus);
  add_work(tick);
  add_reasons(tick);
  if (!peak_) peak_.emplace(kPeakS, tick_s_);
  if (first_w_.size() + 1 < peak_->samples()) first_w_.push_back(tick.watts);
  add_peaks(tick.watts);
  duration_s_ += tick_s_;
  cluster_j_ += tick_s_ * tick.cluster_w;
  cluster_w_.push_back(tick.cluster_w);
  for (size_t kind = 0; kind < kind_j_.size(); ++kind)
    kind_j_[kind] +=
        tick_s_ * (kind_j_.size() == 1 ? tick.cluster_w : heat.kind_w(fleet_.kinds[kind]));
  for (int64_t node = 0; node < fleet_.nodes; ++node) {
    const double share =
        tick_s_ * fleet_.weight[static_cast<size_t>(node)] / static_cast<double>(fleet_.all_nodes);
    fan_ += share * heat.fan()[static_cast<size_t>(node)];
    inlet_c_ += share * heat.inlet_c()[static_cast<size_t>(node)];
    fans_w_ += share * heat.fans_w(node);
  }
}

void PowerRecord::add_work(const Tick& tick) {
  row_core_w_.resize(tick.loads.size());
  row_active_w_.resize(tick.loads.size());
  for (const FleetKind& kind : fleet_.kinds) {
    for (size_t row = 0; row < tick.loads.size(); ++row) {
      row_core_w_[row] = tick.loads[row].core_w;
      row_active_w_[row] = tick.loads[row].awake ? kind.gpu.active_w : 0;
    }
    const auto [first, count] = fleet_.gpus_of(kind);
    add_core({fleet_.role.data() + first, row_core_w_.data(), row_active_w_.data(),
              kind.gpu.clocks.highest_hz},
             tick.voltage.data() + first, tick.clock_hz.data() + first, sums_.core_w.data() + first,
             sums_.active_w.data() + first, count);
  }
}

void PowerRecord::add_reasons(const Tick& tick) {
  const size_t gpus = tick.reasons.size();
  const uint32_t any = any_of(tick.reasons.data(), gpus);
  const auto count = [&](uint32_t mask, std::vector<double>& counts) {
    if ((any & mask) != 0) count_each(mask, tick.reasons.data(), counts.data(), gpus);
  };
  count(physics::kThrottleReasons, sums_.throttled);
  for (size_t i = 0; i < kCountedReasons.size(); ++i) count(kCountedReasons[i], sums_.reasons[i]);
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
  oldest_first_.clear();
  for (size_t i = 0; i < last_w_.size(); ++i)
    oldest_first_.push_back(last_w_[(ticks_ + i) % last_w_.size()].data());
  peak_->means(oldest_first_, beginning_w_, ending_w_);
  for (const std::vector<double>* means_w : {&beginning_w_, &ending_w_}) {
    raise_each(means_w->data(), sums_.peak_w.data(), means_w->size());
    count_windows(*means_w);
  }
}

void PowerRecord::count_windows(std::span<const double> means_w) {
  find_bins(means_w.data(), bins_.data(), means_w.size());
  for (size_t gpu = 0; gpu < bins_.size(); ++gpu) {
    const auto bin = static_cast<size_t>(bins_[gpu]);
    if (bin >= histogram_.size()) histogram_.resize(bin + 1);
    histogram_[bin] += ranks_[gpu];
  }
}

double PowerRecord::p95_w() const {
  double all = 0, so_far = 0, peak_w = 0;
  for (const GpuRecord& gpu : gpus()) peak_w = std::max(peak_w, gpu.peak_w);
  for (const double weight : histogram_) all += weight;
  if (all <= 0) return peak_w;
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
  std::vector<GpuRecord> means(ranks_.size());
  const auto ticks = static_cast<double>(cluster_w_.size());
  for (size_t number = 0; number < means.size(); ++number) {
    GpuRecord& gpu = means[number];
    gpu = {.mean_w = sums_.watts[number] / ticks,
           .core_w = sums_.core_w[number] / ticks,
           .active_w = sums_.active_w[number] / ticks,
           .burnt_w = sums_.burnt_w[number] / ticks,
           .clock_hz = sums_.clock_hz[number] / ticks,
           .throttled = sums_.throttled[number] / ticks,
           .mean_c = sums_.die_c[number] / ticks,
           .mean_memory_c = sums_.memory_c[number] / ticks,
           .peak_w = sums_.peak_w[number],
           .max_c = sums_.max_c[number],
           .max_memory_c = sums_.max_memory_c[number],
           .reasons = {}};
    if (!row_sums_.empty()) {
      gpu.hbm_w = row_sums_[fleet_.row_of(number)].memory_w / ticks;
      gpu.links_w = row_sums_[fleet_.row_of(number)].link_w / ticks;
    }
    for (size_t i = 0; i < gpu.reasons.size(); ++i)
      gpu.reasons[i] = sums_.reasons[i][number] / ticks;
    // Shorter than a peak, or no rank.
    if (gpu.peak_w <= 0 || fleet_.role[number] < 0) gpu.peak_w = gpu.mean_w;
  }
  return means;
}

}  // namespace ergometer::engine
