#pragma once

#include <string>

#include "run/run.h"

namespace ergometer::report {

/// The summary document of a Run: names and units of the interface contract, `schema_version`
/// first. `ranks` adds the table of ranks, `explanation` (JSON text, may be empty) a last member
/// `explain`.
std::string summary_json(const run::Run& run, bool ranks, const std::string& explanation = "");

}  // namespace ergometer::report
