#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/bytes/byte_source.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Reads a pipeline's timeline in Chrome's trace format, as MegatronApp's MegaScan merges it from
/// its ranks: events that begin and end (`ph` B and E; X too), of process number = rank, with
/// `iteration`, `microbatch`, `model_chunk` and `pp_rank` among their arguments. A RankTrace for
/// every rank, with `tasks`, `steps`, `stage` and `stages`.
///
/// A beginning without an end and an end without a beginning are counted and left out. Input error
/// is: no valid JSON, no forward and no backward.
Result<std::vector<run::RankTrace>> read_megascan(ByteSource& source, const std::string& file);

/// Reads one rank of Primus' pipeline dump (`pp_rank_N.json`): for every iteration the starts and
/// ends of its forwards and backwards (`fwd_start`, `fwd_end`, `bwd_start`, `bwd_end`, with a zero
/// bubble schedule also `wgrad_start`, `wgrad_end`) in milliseconds since the iteration began.
/// N is the stage. Input error is: no valid JSON, starts and ends that do not pair, no iteration.
Result<run::RankTrace> read_primus(ByteSource& source, const std::string& file);

/// Primus' iterations have clocks of their own, which begin at 0 on all ranks together. Puts them
/// one behind the other, each as long as on the rank where it lasts longest. Traces whose steps do
/// not overlap stay as they are.
void join_step_clocks(std::vector<run::RankTrace>& ranks);

}  // namespace ergometer::importer
