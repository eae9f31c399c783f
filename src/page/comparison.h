#pragma once

#include <optional>

#include "base/result.h"
#include "compare/comparison.h"
#include "page/document.h"

namespace ergometer::page {

/// What makes the difference between two Runs: of two simulated ones by simulating the jobs between
/// them, else by measured parts. Nothing where there is nothing to go by: a simulated Run without
/// its settings, or a recording of another kind than the other. An input error: settings that no
/// job can be made of.
Result<std::optional<compare::Comparison>> comparison_of(const NamedRun& a, const NamedRun& b,
                                                         const DocumentOptions& options);

}  // namespace ergometer::page
