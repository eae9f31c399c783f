#pragma once

#include "run/file/sqlite.h"

namespace ergometer::run {

/// Which tables a Run file has beside those that every one has.
struct HasTables {
  bool log = false, traces = false;
};
/// Views that need no join and no JSON to be read: `totals`, `gpus` and, where their tables are
/// there, `samples` and `steps`; docs/run-file.md. That of a study, `points`, is made with its
/// tables, whose columns are the study's.
void create_views(Database& db, HasTables has);

}  // namespace ergometer::run
