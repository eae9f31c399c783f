#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of what a report shows beside the summary (run/detail.h); docs/run-file.md describes
// them.

/// Makes those tables that have rows, and fills them.
void insert_detail(Database& db, const Run& run);
/// Reads what there is: a file may be older than these tables. False when rows hold what no task or
/// metric can be.
bool select_detail(Database& db, Run& run);

}  // namespace ergometer::run
