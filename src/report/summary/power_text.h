#pragma once

#include <string>

#include "report/summary/summary_text.h"

namespace ergometer::report {

/// The summary's block on power and heat; empty where the Run knows nothing of power.
std::string power_text(const run::Run& run, const TextStyle& style);
/// One line a rank: power, temperature, clock; empty without them.
std::string rank_power_text(const run::Run& run, const TextStyle& style);

}  // namespace ergometer::report
