#pragma once

#include <string>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

/// What traces tell, for a terminal of 80 columns: ranks, a step, kernels by class and by name,
/// collectives, what was dropped, and what to do about it. Of long lists the top. `more` stands
/// before the findings.
std::string trace_text(const analysis::TraceSummary& summary,
                       const std::vector<run::Dropped>& dropped, const TextStyle& style,
                       const std::string& more = "");

/// "Left out", by reason over all files: a job of a thousand ranks has a thousand of each. Empty
/// where nothing was.
std::string dropped_text(const std::vector<run::Dropped>& dropped);

/// What was left out of a Run's traces, then of its readings.
std::vector<run::Dropped> dropped_of(const run::Run& run);
/// How often a device was read, all its sensors together.
size_t readings_of(const run::Device& device);

/// What was imported into the Run file `path`.
std::string import_text(const run::Run& run, const std::string& path);

}  // namespace ergometer::report
