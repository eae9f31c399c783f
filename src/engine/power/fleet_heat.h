#pragma once

#include <vector>

#include "engine/power/fleet.h"
#include "engine/power/governed_step.h"
#include "physics/heat.h"

namespace ergometer::engine {

/// The heat of a fleet and what answers it: fans, and the drivers' thermal governors. Power of a
/// GPU is constant between two calls.
class FleetHeat {
 public:
  FleetHeat(const Fleet& fleet, const spec::Node& node);

  Surroundings surroundings() const { return {heat_.die_c(), ceiling_hz_}; }
  std::span<const double> memory_c() const { return heat_.memory_c(); }
  /// Speed of a node's fans, share of full speed.
  std::span<const double> fan() const { return fan_; }
  std::span<const double> inlet_c() const { return inlet_c_; }
  double fans_w(int64_t node) const;
  /// What the node draws at its plug when its GPUs draw `gpus_w`.
  double node_w(int64_t node, double gpus_w) const;
  /// What all nodes of the job draw at their plugs, by the power last given.
  double cluster_w() const;
  /// Of it, what the GPUs draw.
  double gpus_w() const;

  /// Temperatures at which this power leaves them, with fans and ceilings moved part of the way to
  /// what they would then be: called until nothing changes. `weight`: how far to go from the power
  /// of the call before to this one; below 1 where a clock alternates between two lattice points.
  void settle(const FleetStep& step, double weight = 1);
  /// The same for mean power over steps, one a GPU; ceilings are left alone.
  void settle(std::span<const double> watts, std::span<const double> memory_w);
  /// Nodes are advanced part by part, for who has more to do with their GPUs meanwhile.
  size_t parts() const { return heat_.parts(); }
  GpuRange gpus_of(size_t part) const;
  /// Temperatures of a part after `dt_s` seconds at this power, one a GPU, and at these loads, by
  /// `Fleet::row_of`. All parts are advanced by turns.
  void advance(size_t part, double dt_s, std::span<const double> watts,
               std::span<const physics::Load> loads);
  /// Once all are: fans follow, in their own period.
  void move_coolant(double dt_s);
  /// All GPUs idle for so long that nothing changes any more, at their lowest clock or at this.
  void cool_down(double clock_hz = 0);
  /// Everything at one temperature.
  void start_at(double celsius);
  /// The largest change of a temperature, K, and of a ceiling relative to the highest clock, in the
  /// last call of settle.
  double moved_k() const { return moved_k_; }
  double moved_clock() const { return moved_clock_; }
  /// GPUs at or above the temperature at which hardware turns them off.
  double shut_down() const;
  const physics::Heat& heat() const { return heat_; }

 private:
  void take_power(const FleetStep& step, double weight);
  void take_power(std::span<const double> watts, std::span<const double> memory_w);
  void take_power(GpuRange gpus, std::span<const double> watts,
                  std::span<const double> row_memory_w);
  void set_coolant(double fan_weight);
  void move_fans(double fan_weight, std::span<const double> hottest_c);
  double hottest_c(size_t node) const;
  void move_ceilings(const FleetStep& step, double weight);
  void note_moves(const std::vector<double>& before_c);

  const Fleet& fleet_;
  physics::Heat heat_;
  std::vector<double> ceiling_hz_, fan_, inlet_c_;
  std::vector<double> die_w_, memory_w_;
  std::vector<double> row_memory_w_;  ///< heat of the HBM in a tick, by `Fleet::row_of`
  std::vector<double> node_gpus_w_;
  double since_fan_s_ = 0;
  std::vector<double> hottest_ks_;  ///< by node: the hottest die, over the fans' period
  double moved_k_ = 0, moved_clock_ = 0;
};

}  // namespace ergometer::engine
