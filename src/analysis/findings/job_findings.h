#pragma once

#include <string>

#include "analysis/findings/job_report.h"
#include "analysis/findings/trace_summary.h"
#include "analysis/telemetry/telemetry.h"

namespace ergometer::analysis {

/// Adds what ranks and GPUs tell together to a summary's findings, says of each what it costs a
/// training step where steps are marked (in joules too where watts by kernel are told), and puts
/// the dearest first, by the share of time. A group's straggler takes the place of the plain
/// "late_arrival". The summary of no traces is allowed: telemetry has findings of its own.
void add_job_findings(const JobReport& report, const TelemetryReport& power, TraceSummary& summary);

/// A finding that is measured and costs some seconds of all `of_s`.
Finding priced(std::string name, double cost_s, double of_s);

/// What to do about a pipeline's bubble, and about recomputation, measured or predicted.
void advise_on_bubble(Finding& finding);
void advise_on_recomputation(Finding& finding);

}  // namespace ergometer::analysis
