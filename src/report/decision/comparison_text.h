#pragma once

#include <string>

#include "compare/comparison.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What a person reads of a comparison, 100 columns wide: both sides, the causes with what they are
/// worth, the same by part of the step for the largest, what it comes to, what to know before
/// believing it.
std::string comparison_text(const compare::Comparison& comparison, const TextStyle& style);

}  // namespace ergometer::report
