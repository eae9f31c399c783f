#pragma once

#include <span>

namespace ergometer::engine {

/// What a flow that asks for `own` gets of a link of `capacity` on which all of `demands` (its own
/// among them) compete, under max-min fairness: who asks for less than an equal share gets what it
/// asks for, the others divide what is left. Two flows that ask for 30 and 100 of 100: the first
/// gets 30, the second 70.
double fair_share(double own, std::span<const double> demands, double capacity);

}  // namespace ergometer::engine
