#pragma once

#include <string>

#include "plan/plan.h"

namespace ergometer::plan {

/// What is wrong with a plan's programs, or nothing: operators and slots in range, collectives
/// where collectives belong, no wait for an event nobody has recorded, every message sent once and
/// received once by another role, and no deadlock when all roles run side by side with all their
/// ranks' durations zero.
std::string find_fault(const Plan& plan);

}  // namespace ergometer::plan
