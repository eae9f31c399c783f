#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/fleet_heat.h"
#include "engine/governed_step.h"

namespace ergometer::engine {

/// One GPU over everything that was looked at; means over time, largest values.
struct GpuRecord {
  double mean_w = 0, core_w = 0, active_w = 0, clock_hz = 0, throttled = 0;
  double mean_c = 0, mean_memory_c = 0;
  double peak_w = 0, max_c = 0, max_memory_c = 0;
  std::array<double, kCountedReasons.size()> reasons{};  ///< share of time
};

/// A period of equal steps, for what changes over time.
struct Period {
  double start_s = 0, length_s = 0;
  double cluster_w = 0;  ///< every node at its plug
};

/// What a fleet drew and how hot it got, gathered period by period.
class PowerRecord {
 public:
  explicit PowerRecord(const Fleet& fleet);

  /// The fleet was like this for `length_s` seconds from `start_s` on.
  void add(double start_s, double length_s, const FleetStep& step, const FleetHeat& heat);

  std::vector<GpuRecord> gpus() const;
  const std::vector<Period>& periods() const { return periods_; }
  double duration_s() const { return duration_s_; }
  double steps() const { return steps_; }
  /// Means over time and nodes: speed and power of a node's fans, the air that enters it.
  double fan() const { return fan_ / duration_s_; }
  double fans_w() const { return fans_w_ / duration_s_; }
  double inlet_c() const { return inlet_c_ / duration_s_; }
  double cluster_w() const { return cluster_j_ / duration_s_; }

 private:
  const Fleet& fleet_;
  std::vector<GpuRecord> sums_;
  std::vector<Period> periods_;
  double duration_s_ = 0, steps_ = 0, cluster_j_ = 0, fan_ = 0, fans_w_ = 0, inlet_c_ = 0;
};

/// Power of the cluster at its plugs when its GPUs draw what `step` says.
double cluster_power_w(const Fleet& fleet, const FleetStep& step, const FleetHeat& heat);

}  // namespace ergometer::engine
