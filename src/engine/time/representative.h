#pragma once

#include <vector>

#include "engine/time/timeline.h"

namespace ergometer::engine {

/// When the instructions of one role begin and end on its representative rank. An instruction
/// begins when nothing it waits for is missing; for what launches nothing, begin and end are equal.
struct Activities {
  std::vector<double> begin_s, end_s;
};

/// How a folded plan's step goes on between what it has.
struct LeftOut {
  double period_s = 0;  ///< length of each period left out
  bool steady = true;   ///< they are like those that the plan has
};

/// Runs one rank for each role at the reference clock, as if all ranks of a role were alike.
/// `durations_s`: [role][instruction]; `activities`: by role, its memory reused. Much quicker than
/// a sweep that keeps spans; for what only needs the pattern of a step. Of a folded plan what
/// follows its marks is seen as if nothing lay between: earlier by the periods left out.
LeftOut run_representatives(const EngineInput& input,
                            const std::vector<std::vector<double>>& durations_s,
                            std::vector<Activities>& activities);

}  // namespace ergometer::engine
