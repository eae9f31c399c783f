#pragma once

#include <string>

#include "analysis/findings/job_report.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What ranks tell together and over time, for a terminal of 80 columns: clocks, the critical path,
/// communication by parallelism, who waits for whom, the pipeline, links, power swings, changes.
/// Sections without content are left out. Of long lists the top.
std::string job_report_text(const analysis::JobReport& report, const TextStyle& style);

}  // namespace ergometer::report
