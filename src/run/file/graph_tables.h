#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of imported execution graphs; docs/run-file.md describes them.

void create_graph_tables(Database& db);
void insert_graphs(Database& db, const Run& run);
/// Reads what there is. False when rows refer to what is not there.
bool select_graphs(Database& db, Run& run);

}  // namespace ergometer::run
