#pragma once

#include "base/json_writer.h"
#include "run/run.h"

namespace ergometer::page {

/// The member `comparison` of a page of two Runs: what makes the difference between them. Nothing
/// where that cannot be told.
void write_comparison(base::JsonWriter& json, const run::Run& a, const run::Run& b);

}  // namespace ergometer::page
