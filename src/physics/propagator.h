#pragma once

#include <vector>

#include "physics/heat_network.h"

namespace ergometer::physics {

/// What a lane does in a stretch of time under constant power, exactly:
///
///   x(dt) = state x(0) + input P,   heat carried away = carried_state x(0) + carried_input P
///
/// with x the excess over the inlet (K), P as in `HeatNetwork` (W).
struct Propagator {
  Matrix state;                                      ///< K/K
  Matrix input;                                      ///< K/W
  std::vector<double> carried_state, carried_input;  ///< J/K, J/W
};

/// e^(rate dt) and its integrals by scaling and squaring: a Taylor series over a step so short that
/// it converges, then doubled. Relative error about 1e-16 times dt over the network's shortest time
/// constant.
Propagator propagate(const HeatNetwork& network, double dt_s);

}  // namespace ergometer::physics
