#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/telemetry/log_builder.h"
#include "run/file/sqlite.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Reads an export of Nsight Systems (`nsys export --type sqlite`), of any schema: a trace for
/// every GPU of every process in it. `file` is what messages call it.
///
///  - Events: kernels, copies, sets, and graphs that were traced as a whole. Launches: calls of the
///    runtime and the driver. Ranges: NVTX (push/pop and start/end) and MPI, "domain:text" where
///    they are not of the default domain. Steps: ranges named so (import/text/step_name.h).
///  - Ranks: MPI's, from its table or its NVTX mark; of a process with several GPUs only the one
///    with most events has it. Otherwise the file's name, when one GPU is all there is.
///  - Times are the export's; the epoch of its zero is in it.
///
/// Rows that lack what they need are counted by reason. Input errors: no table of an export; a
/// table without a column that it needs; pages that SQLite cannot read.
Result<std::vector<run::RankTrace>> read_nsys(run::Database& db, const std::string& file);

/// The GPU metrics that were sampled beside: clock and activity as series, every other metric as a
/// mean a GPU. Nothing where there are none.
Result<void> read_nsys_metrics(run::Database& db, LogBuilder& log);

}  // namespace ergometer::importer
