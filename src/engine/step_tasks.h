#pragma once

#include <vector>

#include "engine/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// What sampled ranks do with their micro batches: each pass over a chunk's layers, from its first
/// to its last operator on the compute stream (recomputation belongs to the backward pass), every
/// message of the pipeline, and the optimizer. Gradients of weights are passes of their own where
/// the schedule runs them apart (ZB-H1).
std::vector<run::RankTasks> step_tasks(const EngineInput& input, const std::vector<Span>& spans);

/// What a kind of group and a kind of collective are called in a Run: "tp", "all_gather".
const char* group_word(workload::GroupKind group);
const char* collective_word(workload::CollectiveKind kind);

/// Time in collectives by kind and group in one step: mean over the ranks of
/// `spans`, the one with the
/// most time first. What is exposed adds up, kind by kind, to the ranks' breakdown.
std::vector<run::CollectiveUse> collective_use(const EngineInput& input,
                                               const std::vector<Span>& spans,
                                               const Timeline& timeline);

}  // namespace ergometer::engine
