#pragma once

#include <span>

#include "plan/stages.h"
#include "search/overlap/block_costs.h"
#include "search/overlap/data_costs.h"
#include "search/overlap/data_lane.h"
#include "search/overlap/two_lanes.h"

namespace ergometer::search {

// Data parallelism's collectives beside a chunk's blocks, block by block, as the plan issues them.
// All play on `lane` from its moment on; the chunk's blocks alone would take the sum of their
// times.

/// A first forward that gathers parameters bucket by bucket, one ahead.
void gather_along(const BlockCosts& costs, const plan::Chunk& chunk,
                  const std::vector<DataCosts::Bucket>& buckets, bool issued_before,
                  DataLane& lane);
/// A last backward that reduces gradients bucket by bucket; `weights_apart`: only its part that
/// makes the weights' gradients.
void reduce_along(const BlockCosts& costs, const plan::Chunk& chunk,
                  const std::vector<DataCosts::Bucket>& buckets, bool weights_apart,
                  DataLane& lane);
/// Forward and backward whose parameters are gathered and gradients scattered block by block, if
/// there are `units`.
void forward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                   std::span<const DataCosts::Unit> units, DataLane& lane);
void backward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                    std::span<const DataCosts::Unit> units, DataLane& lane);

/// The same of slots that take turns with another micro batch's, whose exchanges between experts go
/// on a lane of their own; a backward's end waits for all of them.
struct Turns {
  bool paired = true;  ///< false: a first forward or a last backward, with its exchanges in line
  TwoLanes::Beside exchange;  ///< it beside data parallelism's collectives, and they beside it
};
void forward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                   std::span<const DataCosts::Unit> units, const Turns& turns, TwoLanes& lanes);
void backward_along(const BlockCosts& costs, const plan::Chunk& chunk,
                    std::span<const DataCosts::Unit> units, const Turns& turns, TwoLanes& lanes);

/// Calls `visit(index, recomputed)` for the chunk's blocks, last one first.
template <class Visit>
void backwards(const BlockCosts& costs, const plan::Chunk& chunk, Visit visit) {
  int64_t recomputable = 0;
  const auto repeats = [&](size_t i) {
    return !costs.workload->blocks[static_cast<size_t>(chunk.blocks[i])].recompute.empty();
  };
  for (size_t i = 0; i < chunk.blocks.size(); ++i) recomputable += repeats(i) ? 1 : 0;
  for (size_t i = chunk.blocks.size(); i-- > 0;) {
    if (repeats(i)) --recomputable;
    visit(i, repeats(i) && recomputable < chunk.recomputed_blocks);
  }
}

}  // namespace ergometer::search
