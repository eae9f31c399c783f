#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/power/power_play.h"
#include "physics/facility.h"
#include "physics/sliding_mean.h"

namespace ergometer::engine {

/// The event reasons that time is counted by.
inline constexpr std::array<uint32_t, 5> kCountedReasons = {
    physics::kApplicationsClocksSetting, physics::kSwPowerCap, physics::kSwThermalSlowdown,
    physics::kHwThermalSlowdown, physics::kHwPowerBrake};

/// Power is called a peak when it lasts as long as a sensor averages over: 25 ms on A100 and H100
/// (arXiv 2312.02741). It is the highest mean over any window so long, wherever it begins.
inline constexpr double kPeakS = 0.025;

/// One GPU over everything that was shown; means over time, largest values.
struct GpuRecord {
  double mean_w = 0, core_w = 0, active_w = 0, burnt_w = 0, hbm_w = 0, links_w = 0;
  double clock_hz = 0, throttled = 0, mean_c = 0, mean_memory_c = 0;
  double peak_w = 0;  ///< the highest mean over `kPeakS`, or over all if that is shorter
  double max_c = -1e9, max_memory_c = -1e9;
  std::array<double, kCountedReasons.size()> reasons{};  ///< share of time
};

/// What a fleet drew and how hot it got, gathered tick by tick; ticks are of equal length.
class PowerRecord {
 public:
  explicit PowerRecord(const Fleet& fleet);

  void add(const Tick& tick, const FleetHeat& heat);
  /// All was added, and it repeats: peaks lie across its end as well.
  void close_circle();

  std::vector<GpuRecord> gpus() const;
  double duration_s() const { return duration_s_; }
  /// The power over `kPeakS` that 95 % of the ranks' time does not exceed, to a hundredth of a
  /// watt; of less than that the largest mean.
  double p95_w() const;
  /// The cluster at its plugs: by tick, or over as many as make at most 65,536 samples.
  physics::PowerSeries cluster() const;
  double cluster_w() const { return cluster_j_ / duration_s_; }
  /// Of it, the nodes of one kind.
  double kind_w(size_t kind) const { return kind_j_[kind] / duration_s_; }
  /// Means over time and nodes: speed and power of a node's fans, the air that enters it.
  double fan() const { return fan_ / duration_s_; }
  double fans_w() const { return fans_w_ / duration_s_; }
  double inlet_c() const { return inlet_c_ / duration_s_; }

 private:
  /// Of `GpuRecord`, over ticks: one number a GPU.
  struct Sums {
    std::vector<double> watts, core_w, active_w, burnt_w, clock_hz, throttled, die_c, memory_c;
    std::vector<double> peak_w, max_c, max_memory_c;
    std::array<std::vector<double>, kCountedReasons.size()> reasons;
  };

  void add_work(const Tick& tick);
  void add_reasons(const Tick& tick);
  void add_peaks(std::span<const double> watts);
  void count_windows(std::span<const double> means_w);

  const Fleet& fleet_;
  Sums sums_;
  std::vector<physics::Load> row_sums_;            ///< what is the same for all GPUs of a role
  std::vector<double> row_core_w_, row_active_w_;  ///< of a tick, at relative voltage 1
  std::optional<physics::SlidingWindow> peak_;     ///< over ticks
  std::vector<std::vector<double>> last_w_;  ///< of the ticks that it touches, a ring; of all GPUs
  std::vector<std::vector<double>>
      first_w_;       ///< the same of the first ticks, all but one of as many
  size_t ticks_ = 0;  ///< in the ring, now or before
  std::vector<const double*> oldest_first_;     ///< what is in it
  std::vector<double> beginning_w_, ending_w_;  ///< means over windows, one a GPU
  std::vector<int32_t> bins_;                   ///< of `histogram_`, the same
  std::vector<double> ranks_;                   ///< that each GPU stands for
  std::vector<double> histogram_;               ///< windows of ranks by hundredth of a watt
  std::vector<double> cluster_w_;
  std::vector<double> kind_j_;  ///< at the plug, by kind
  double tick_s_ = 0;
  double duration_s_ = 0, cluster_j_ = 0, fan_ = 0, fans_w_ = 0, inlet_c_ = 0;
};

}  // namespace ergometer::engine
