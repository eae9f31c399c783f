#pragma once

#include <string_view>

#include "base/json_writer.h"
#include "run/run.h"

namespace ergometer::report {

/// The numbers of the summary table directly below `prefix` ("performance."), in the table's order.
void write_fields(base::JsonWriter& json, const run::Run& run, std::string_view prefix);

}  // namespace ergometer::report
