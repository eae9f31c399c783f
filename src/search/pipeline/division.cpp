#include "search/pipeline/division.h"

#include <algorithm>

namespace ergometer::search {
namespace {

bool same(const plan::Chunk& a, const plan::Chunk& b) {
  return a.blocks == b.blocks && a.recomputed_blocks == b.recomputed_blocks;
}

std::vector<BlockRun> runs_of(const plan::Chunk& chunk) {
  std::vector<BlockRun> runs;
  for (const int index : chunk.blocks) {
    const auto block = static_cast<size_t>(index);
    if (runs.empty() || runs.back().block != block) runs.push_back({block, 0});
    ++runs.back().count;
  }
  return runs;
}

}  // namespace

Division make_division(const spec::Job& job, const workload::Workload& workload) {
  Division division;
  division.stages = plan::divide(job, workload);
  for (const plan::Stage& stage : division.stages) {
    std::vector<int>& kinds = division.chunk_kinds.emplace_back();
    for (const plan::Chunk& chunk : stage.chunks) {
      const auto found = std::ranges::find_if(
          division.chunks, [&](const plan::Chunk& other) { return same(chunk, other); });
      kinds.push_back(static_cast<int>(found - division.chunks.begin()));
      if (found != division.chunks.end()) continue;
      division.chunks.push_back(chunk);
      division.runs.push_back(runs_of(chunk));
    }
  }
  for (size_t stage = 0; stage < division.stages.size(); ++stage) {
    size_t first = 0;
    while (division.chunk_kinds[first] != division.chunk_kinds[stage]) ++first;
    if (first == stage) division.first_stage.push_back(static_cast<int64_t>(stage));
    division.stage_kinds.push_back(first == stage ? division.kinds() - 1
                                                  : division.stage_kinds[first]);
  }
  for (size_t stage = 2; stage + 1 < division.stages.size(); ++stage)
    division.alike_inside &= division.stage_kinds[stage] == division.stage_kinds[1];
  return division;
}

}  // namespace ergometer::search
