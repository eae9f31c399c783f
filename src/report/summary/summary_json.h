#pragma once

#include <optional>
#include <string>

#include "base/json_writer.h"
#include "compare/trained_apart.h"
#include "report/summary/power_json.h"
#include "run/run.h"

namespace ergometer::report {

/// The members that every document of a Run begins with: `schema_version`, `source`, `performance`,
/// `memory`, power and heat, `links`, `limiter`, `job`.
void write_summary(base::JsonWriter& json, const run::Run& run,
                   PowerOverTime power = PowerOverTime::kWrite);

/// The summary document of a Run: names and units of the interface contract, `schema_version`
/// first. `ranks` adds the table of ranks, `trained` a member `stages_trained_apart`, `explanation`
/// (JSON text, may be empty) a last member `explain`.
std::string summary_json(const run::Run& run, bool ranks, const std::string& explanation = "",
                         const std::optional<compare::TrainedApart>& trained = {});

}  // namespace ergometer::report
