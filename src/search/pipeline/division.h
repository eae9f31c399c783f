#pragma once

#include <vector>

#include "plan/stages.h"

namespace ergometer::search {

/// Equal blocks in a row.
struct BlockRun {
  size_t block = 0;  ///< index into Workload::blocks
  int64_t count = 0;
};

/// The stages of a job with equal ones told apart from different ones: what is computed of a chunk
/// or stage is computed once for each kind of it.
struct Division {
  std::vector<plan::Stage> stages;
  std::vector<plan::Chunk> chunks;            ///< the different ones
  std::vector<std::vector<BlockRun>> runs;    ///< of each of `chunks`
  std::vector<std::vector<int>> chunk_kinds;  ///< [stage][chunk] into `chunks`
  std::vector<int> stage_kinds;               ///< [stage]
  std::vector<int64_t> first_stage;           ///< by stage kind: the first stage of it
  int kinds() const { return static_cast<int>(first_stage.size()); }
  /// Whether all stages but the first and the last are of one kind.
  bool alike_inside = true;
};

Division make_division(const spec::Job& job, const workload::Workload& workload);

}  // namespace ergometer::search
