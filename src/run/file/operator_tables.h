#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The part of traces that tells what the CPU did: operators, ranges, the calls that launched and
// those that waited.

void create_operator_tables(Database& db);
void insert_operators(Database& db, const Run& run);
/// Into the traces that `run` holds. A file without these tables has none; false where they
/// contradict themselves.
bool select_operators(Database& db, Run& run);

}  // namespace ergometer::run
