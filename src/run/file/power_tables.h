#pragma once

#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of power and heat in a Run file; docs/run-file.md describes them.

/// Makes the tables; they stay empty where the Run knows nothing of power.
void create_power_tables(Database& db);
void insert_power(Database& db, const Run& run);
/// Reads what there is: a file may be older than these tables.
void select_power(Database& db, Run& run);

/// Its telemetry rows alone.
void select_telemetry(Database& db, std::vector<Telemetry>& telemetry);

}  // namespace ergometer::run
