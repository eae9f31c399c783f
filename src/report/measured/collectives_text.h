#pragma once

#include <string>

#include "analysis/telemetry/collective_timings.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// Collectives as NCCL's tools measured them, and who comes last; empty without any.
std::string collectives_text(const analysis::CollectiveTimings& timings, const TextStyle& style);

}  // namespace ergometer::report
