#pragma once

#include <string>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "base/json_writer.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What costs time, the dearest first: what it is, what it costs, what to try and what would check
/// it; empty without findings.
std::string findings_text(const std::vector<analysis::Finding>& findings, const TextStyle& style);
/// The same as the member `findings`.
void write_findings(base::JsonWriter& json, const std::vector<analysis::Finding>& findings);

}  // namespace ergometer::report
