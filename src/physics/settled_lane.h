#pragma once

#include <span>
#include <vector>

#include "physics/heat_network.h"

namespace ergometer::physics {

/// Where the temperatures of a lane end under constant power, in closed form. In the end all heat
/// of a GPU leaves through its sink or its twin's, so that only the sinks have to be solved for:
///
///   P_i = q_i + G (x_i - x_twin),   q_i = (x_i - preheat (sum of q_j upstream)) / resistance
///
/// and the ladder above each sink is a sum of resistances times power.
class SettledLane {
 public:
  /// Both must outlive this.
  SettledLane(const CoolingParameters& cooling, const Lane& lane);

  /// Powers and factors on the die's resistance, one for each of the lane's GPUs. `flow` need not
  /// be one of those that steps are rounded to.
  void solve(double flow, std::span<const double> die_resistance, std::span<const double> die_w,
             std::span<const double> memory_w);
  /// Excess over the inlet, four places a GPU as in `HeatNetwork`.
  std::span<const double> places() const { return places_; }

 private:
  void set_up(double flow);
  void eliminate();
  void solve_sinks();

  const CoolingParameters& cooling_;
  const Lane& lane_;
  double flow_ = 0;  ///< of the system
  Matrix out_;       ///< q_i for each K of each sink
  /// Heat that leaves GPU i for each K of each sink; eliminated, with the factors below the
  /// diagonal.
  Matrix system_;
  std::vector<double> sinks_, places_;
};

}  // namespace ergometer::physics
