#pragma once

#include <string>
#include <vector>

#include "analysis/breakdown.h"

namespace ergometer::report {

/// The summary of traces in the contract's form: `trace` with ranks and what was dropped.
std::string trace_json(const std::vector<analysis::RankBreakdown>& ranks,
                       const std::vector<run::Dropped>& dropped);

}  // namespace ergometer::report
