#pragma once

#include <string>

#include "analysis/findings/trace_summary.h"
#include "base/json_writer.h"
#include "report/summary/summary_text.h"

namespace ergometer::report {

// What the GPU worked on: phases, operators by shape, taxes, launches, energy.

/// Members of "trace": `class_scheme`, `classes`, `phases`, `operators`, `taxes`, `energy`.
void write_work(base::JsonWriter& json, const analysis::TraceSummary& summary);
/// A rank's member `launch`.
void write_launches(base::JsonWriter& json, const analysis::RankSummary& rank);

/// The same for the terminal, each part with its heading; empty where there is nothing to tell.
std::string phases_text(const analysis::TraceSummary& summary, const TextStyle& style);
std::string operators_text(const analysis::TraceSummary& summary, const TextStyle& style);
std::string taxes_text(const analysis::TraceSummary& summary, const TextStyle& style);
std::string energy_text(const analysis::TraceSummary& summary, const TextStyle& style);

}  // namespace ergometer::report
