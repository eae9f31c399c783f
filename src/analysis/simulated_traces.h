#pragma once

#include <cstdint>
#include <vector>

#include "run/run.h"

namespace ergometer::analysis {

/// How a simulated job's ranks are divided: numbered tensor parallel fastest, then context, then
/// data, stages last, as Megatron-LM does.
struct RankLayout {
  int64_t tp = 1, cp = 1, dp = 1, pp = 1, ep = 1;
  int64_t etp = 0;  ///< of experts; 0: as tp
  int64_t stage_ranks() const { return tp * cp * dp; }
  int64_t expert_tp() const { return etp > 0 ? etp : tp; }
  /// Ranks that hold one copy of a layer's experts, numbered expert tensor parallel fastest.
  int64_t expert_ranks() const { return expert_tp() * (ep > 1 ? ep : 1); }
};

/// The kernels of a simulated Run as traces of its sampled ranks, so that the same analysis tells
/// of them as of recorded ones: a stream each, one step as long as the Run's, collectives with
/// their group, size and bytes, messages with their partner, the passes as ranges,
/// and the pipeline's tasks with their micro batch and chunk: those that the Run has, else cut from
/// the kernels. Of a Run that holds the kernels of a window of its step no step is marked. There is
/// no CPU: launches are not known.
std::vector<run::RankTrace> simulated_traces(const run::Run& run, const RankLayout& layout);

}  // namespace ergometer::analysis
