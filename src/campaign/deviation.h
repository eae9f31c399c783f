#pragma once

#include "run/run.h"

namespace ergometer::campaign {

/// How far the truth may lie from what is predicted. ln(true / predicted) is normal on either side
/// of its median 0, with a standard deviation of its own on each: an interval may reach much
/// further up than down, as where a limit perhaps holds clocks.
struct Deviation {
  double below = 0, above = 0;
};

/// Of a prediction > 0 and the 90 % interval around it:
///   below = ln(predicted / low) / 1.645, above = ln(high / predicted) / 1.645,
/// so that 5 % of the draws lie below its lower end and 5 % above its upper. An interval of no
/// width, or one that is not known (low 0): none.
Deviation deviation_of(double predicted, const run::Interval& interval);

/// True / predicted in a draw: exp(below z) or exp(above z), by the sign of the standard normal z.
double factor(const Deviation& deviation, double normal);

}  // namespace ergometer::campaign
