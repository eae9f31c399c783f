#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of pipeline tasks and stages of imported traces; docs/run-file.md describes them.

void create_task_tables(Database& db);
void insert_tasks(Database& db, const Run& run);
/// Reads what there is into traces that have been read. False when rows refer to what is not there
/// or hold what no task can.
bool select_tasks(Database& db, Run& run);

}  // namespace ergometer::run
