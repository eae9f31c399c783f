#pragma once

#include <vector>

#include "engine/time/timeline.h"
#include "run/run.h"

namespace ergometer::engine {

/// What sampled ranks do in a step of `step_s` seconds: each pass over a chunk's layers, from its
/// first to its last operator on the compute stream (recomputation and what is waited for in
/// between belong to it), the collectives and kernels of the step's end, and waits for all that is
/// left of the step, which say for whom. Beside them every message of the pipeline, and what of
/// gradients and parameters other streams move. Gradients of weights are passes of their own where
/// the schedule runs them apart (ZB-H1).
std::vector<run::RankTasks> step_tasks(const EngineInput& input, const std::vector<Span>& spans,
                                       double step_s);

/// How long a collective takes on a sampled rank once everybody is there, s.
double transfer_s(const EngineInput& input, const Span& span, const plan::Instruction& it);

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
