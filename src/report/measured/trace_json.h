#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "base/json_writer.h"

namespace ergometer::report {

/// The summary of traces in the contract's form: `source` "imported", `performance` as far as the
/// traces tell it, `trace` with ranks, tables and what was dropped, and `findings`.
/// `more` writes further members of the document, where other files stand beside the traces. With a
/// `run` the document begins with its summary: what was simulated is known of all ranks.
std::string trace_json(const analysis::TraceSummary& summary,
                       const std::vector<run::Dropped>& dropped,
                       const std::function<void(base::JsonWriter&)>& more = {},
                       const run::Run* run = nullptr);

/// The member `trace`: ranks, tables and what was dropped.
void write_trace(base::JsonWriter& json, const analysis::TraceSummary& summary,
                 const std::vector<run::Dropped>& dropped);
/// The member `performance` of what traces tell.
void write_trace_performance(base::JsonWriter& json, const run::Performance& performance);

/// What was imported into the Run file `path`.
std::string import_json(const run::Run& run, const std::string& path);

}  // namespace ergometer::report
