#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of imported traces in a Run file; docs/run-file.md describes them. The events
// themselves are the rows of `kernels`, those of one trace after those of the other.

/// Makes the tables, of a Run that was imported.
void create_trace_tables(Database& db);
/// The Run's kernels must be the events of its traces, in their order.
void insert_traces(Database& db, const Run& run);
/// Puts traces together from the kernels that have been read; reads what there is, for a file may
/// be older than these tables. False when rows refer to what is not there.
bool select_traces(Database& db, Run& run);

}  // namespace ergometer::run
