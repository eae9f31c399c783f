#pragma once

#include <vector>

#include "base/collection.h"
#include "engine/power/fleet.h"
#include "engine/power/governed_step.h"
#include "physics/heat.h"
#include "spec/job/cluster.h"

namespace ergometer::engine {

/// The heat of a fleet and what answers it: fans, and the drivers' thermal governors. Power of a
/// GPU is constant between two calls.
class FleetHeat {
 public:
  FleetHeat(const Fleet& fleet, const spec::Cluster& cluster);

  Surroundings surroundings() const { return {die_c(), ceiling_hz_}; }
  std::span<const double> memory_c() const { return own() ? memory_c_ : heats_[0].memory_c(); }
  /// Speed of a node's fans, share of full speed.
  std::span<const double> fan() const { return fan_; }
  std::span<const double> inlet_c() const { return inlet_c_; }
  double fans_w(int64_t node) const;
  /// What the node draws at its plug when its GPUs draw `gpus_w`.
  double node_w(int64_t node, double gpus_w) const;
  /// What all nodes of the job draw at their plugs, by the power last given.
  double cluster_w() const;
  /// Of it, the nodes of one kind.
  double kind_w(const FleetKind& kind) const;
  /// Of it, what the GPUs draw.
  double gpus_w() const;

  /// Temperatures at which this power leaves them, with fans and ceilings moved part of the way to
  /// what they would then be: called until nothing changes. `weight`: how far to go from the power
  /// of the call before to this one; below 1 where a clock alternates between two lattice points.
  void settle(const FleetStep& step, double weight = 1);
  /// The same for mean power over steps, one a GPU; ceilings are left alone. `to_the_end`: until
  /// fans and dies rest with each other.
  void settle(std::span<const double> watts, std::span<const double> memory_w,
              bool to_the_end = false);
  /// The temperature of every part of every GPU, by kind, and the speed of every node's fans; and
  /// the way back to them.
  struct Moment {
    std::vector<std::vector<double>> places_c;
    std::vector<double> fan;
  };
  Moment moment() const { return {base::mapped(heats_, &physics::Heat::places_c), fan_}; }
  void resume(const Moment& moment);
  /// Nodes are advanced part by part, for who has more to do with their GPUs meanwhile.
  size_t parts() const { return parts_.size(); }
  GpuRange gpus_of(size_t part) const { return parts_[part].gpus; }
  /// Temperatures of a part after `dt_s` seconds at this power, one a GPU, and at these loads, by
  /// `Fleet::row_of`. All parts are advanced by turns.
  void advance(size_t part, double dt_s, std::span<const double> watts,
               std::span<const physics::Load> loads);
  /// Once all are: fans follow, in their own period.
  void move_coolant(double dt_s);
  /// All GPUs idle for so long that nothing changes any more, at the lowest or the highest clock.
  enum class IdleClock { kLowest, kHighest };
  void cool_down(IdleClock clock = IdleClock::kLowest);
  /// Everything at one temperature.
  void start_at(double celsius);
  /// The dies of GPUs at work at this temperature on average: how far every part is above its
  /// coolant keeps its proportions. Below the coolant everything is at one temperature.
  void warm_to(double celsius);
  /// The largest change of a temperature, K, and of a ceiling relative to the highest clock, in the
  /// last call of settle.
  double moved_k() const { return moved_k_; }
  double moved_clock() const { return moved_clock_; }
  /// GPUs at or above the temperature at which hardware turns them off.
  double shut_down() const;
  /// Of all kinds: `physics::Heat::stored_j` and `carried_j`.
  double stored_j() const;
  double carried_j() const;

 private:
  /// Nodes of one kind that are advanced together.
  struct Part {
    size_t kind = 0, of_heat = 0;  ///< and which of its `physics::Heat` it is
    GpuRange gpus;
  };
  bool own() const { return heats_.size() > 1; }
  std::span<const double> die_c() const { return own() ? die_c_ : heats_[0].die_c(); }
  void read(size_t kind, GpuRange gpus);
  void read(size_t kind) { read(kind, fleet_.gpus_of(fleet_.kinds[kind])); }
  void settle_heat();
  void take_power(const FleetStep& step, double weight);
  void take_power(std::span<const double> watts, std::span<const double> memory_w);
  void take_power(GpuRange gpus, std::span<const double> watts,
                  std::span<const double> row_memory_w);
  void set_coolant(double fan_weight);
  void settle_coolant(bool to_the_end);
  void move_fans(const FleetKind& kind, double fan_weight, std::span<const double> hottest_c);
  void set_fans(const FleetKind& kind, std::span<const double> speeds);  ///< by node of all kinds
  void begin_fan_periods();
  double wanted_fan(size_t node, double hottest_c) const;
  double hottest_c(size_t node) const;
  double idle_clock_hz(const FleetKind& kind, IdleClock clock) const;
  void move_ceilings(const FleetStep& step, double weight);
  void move_ceiling(const GpuStep& now, size_t gpu, double weight);
  void note_moves(const std::vector<double>& before_c);

  const Fleet& fleet_;
  std::vector<physics::Heat> heats_;  ///< one a kind
  std::vector<Part> parts_;
  std::vector<double> die_c_, memory_c_;  ///< of several kinds: what their heats say, one a GPU
  std::vector<double> ceiling_hz_, fan_, inlet_c_;
  std::vector<double> die_w_, memory_w_;
  std::vector<double> row_memory_w_;  ///< heat of the HBM in a tick, by `Fleet::row_of`
  std::vector<double> node_gpus_w_;
  std::vector<double> since_fan_s_;  ///< by kind
  std::vector<double> hottest_ks_;   ///< by node: the hottest die, over the fans' period
  double moved_k_ = 0, moved_clock_ = 0;
};

}  // namespace ergometer::engine
