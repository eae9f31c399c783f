#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "spec/job/cluster.h"

namespace ergometer::physics {

/// The thermal network of one GPU and what the coolant does, at nominal coolant flow. A ladder
/// die - spreader - sink - coolant with the HBM hanging on the spreader (docs/models/heat.md).
struct CoolingParameters {
  double die_j_per_k = 0, spreader_j_per_k = 0, sink_j_per_k = 0, memory_j_per_k = 0;
  double die_k_per_w = 0;       ///< die to spreader
  double spreader_k_per_w = 0;  ///< spreader to sink
  double memory_k_per_w = 0;    ///< HBM to spreader
  double sink_k_per_w = 0;      ///< sink to coolant: the part that flow does not change
  double film_k_per_w = 0;      ///< sink to coolant: times (nominal flow / flow)^flow_exponent
  double flow_exponent = 0.8;
  double preheat_k_per_w = 0;  ///< rise of the coolant behind a GPU for each watt it takes away, at
                               ///< nominal flow; falls as 1 / flow
  double twin_w_per_k = 0;     ///< between the sinks of the two dies of one module
  double inlet_c = 25;         ///< of the coolant, unless the job says otherwise
  // Fans or pumps of the node.
  double fan_w = 0;       ///< at full speed; goes with the cube of speed
  double fan_lowest = 1;  ///< least share of full speed; full speed is nominal flow
  double fan_start_c = 0, fan_full_c = 0;  ///< hottest die at which speed begins to rise, is full
  double fan_period_s = 5;                 ///< between two decisions of the fan controller
  double recirculation_k_per_w = 0;  ///< rise of the node's inlet for each watt the node draws
};

/// From the node's parameters ("cooling.air.*", ...); `kind`: what the job asks for, or the node's
/// default. An input error names the node and the parameter that is missing.
Result<CoolingParameters> cooling_parameters(const spec::Node& node, spec::Cooling kind);

/// Speed that the automatic controller asks for, share of full speed.
double fan_speed(const CoolingParameters& cooling, double hottest_c);

/// Temperatures of every GPU of a cluster, GPU `node * gpus_per_node + index`. Between two calls
/// power is constant, and a step is exact: the network is linear, so each lane of slots (GPUs that
/// heat each other's coolant, front to rear, and twins) has a closed-form propagator, cached by
/// time step, flow and thermal-resistance bin. Temperatures in C, power in W, time in s.
class Heat {
 public:
  /// `die_resistance`: factor on die_k_per_w, one a GPU, or empty for all 1; rounded to 1/32 so
  /// that propagators are shared. Starts with everything at the inlet's temperature.
  Heat(const CoolingParameters& cooling, const spec::Node& node, int64_t nodes,
       std::span<const double> die_resistance);
  ~Heat();
  Heat(Heat&&) noexcept;
  Heat& operator=(Heat&&) noexcept;

  int64_t gpus() const;
  /// Temperature of the coolant that enters a node, and its flow as a share of the nominal one,
  /// which `advance` rounds to 1/128 and `settle` does not. An inlet set before the first `advance`
  /// or `settle` is also where the node's parts start from. Both take effect with the next step.
  void set_inlet(int64_t node, double inlet_c);
  void set_flow(int64_t node, double flow);
  /// Every part at this temperature, and the energy account at zero.
  void start_at(double celsius);
  /// The temperature of every part, and the way back to it; the energy account starts anew from it.
  std::vector<double> places_c() const;
  void resume(std::span<const double> places_c);
  /// How far every part is above the coolant that enters its node, times a factor. The energy
  /// account starts anew from it.
  void scale_above_inlet(double factor);

  /// Heat of die and HBM of every GPU for `dt_s` seconds.
  void advance(double dt_s, std::span<const double> die_w, std::span<const double> memory_w);
  /// The same, part by part, for who has more to do with the GPUs of one while they are in the
  /// cache: nodes `first_node(part)` up to that of the next. All parts are advanced by turns.
  size_t parts() const;
  int64_t first_node(size_t part) const;
  void advance_part(size_t part, double dt_s, std::span<const double> die_w,
                    std::span<const double> memory_w);
  /// The state that `advance` tends to. The energy account starts anew from it.
  void settle(std::span<const double> die_w, std::span<const double> memory_w);

  std::span<const double> die_c() const;
  std::span<const double> memory_c() const;
  /// What each GPU breathes, by flows as `advance` takes them.
  std::vector<double> coolant_c() const;
  /// How much the settled die temperature of GPU `gpu` rises for each watt on its own die.
  double die_k_per_w(int64_t gpu) const;

  /// Energy in all heat capacities above the state at the start, and energy that left with the
  /// coolant since, J: their sum is what was drawn. The coolant itself stores nothing; one that is
  /// warmer than the sinks heats them, which counts as negative energy carried away.
  double stored_j() const;
  double carried_j() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ergometer::physics
