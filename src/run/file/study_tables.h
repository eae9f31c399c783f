#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of a study; docs/run-file.md describes them.

void create_study_tables(Database& db);
void insert_study(Database& db, const Study& study);
/// Reads the study, if the file holds one. False when a row holds what no study can.
bool select_study(Database& db, Run& run);

}  // namespace ergometer::run
