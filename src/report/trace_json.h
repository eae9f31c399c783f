#pragma once

#include <string>
#include <vector>

#include "analysis/trace_summary.h"

namespace ergometer::report {

/// The summary of traces in the contract's form: `source` "imported", `performance` as far as the
/// traces tell it, `trace` with ranks, tables and what was dropped, and `findings`.
std::string trace_json(const analysis::TraceSummary& summary,
                       const std::vector<run::Dropped>& dropped);

/// What was imported into the Run file `path`.
std::string import_json(const run::Run& run, const std::string& path);

}  // namespace ergometer::report
