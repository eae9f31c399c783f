#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/operations.h"

namespace ergometer::analysis {

/// What-ifs that one pass over the graph answers together.
inline constexpr size_t kReplayLanes = 8;

/// Who waits for whom within one step, its operations in an order in which everybody comes after
/// whom they wait for. Operations that start together (the two sides of a transfer, the members of
/// a collective) stand side by side: a group, which starts when all that any of them waits for has
/// ended.
struct StepGraph {
  std::vector<uint32_t> operations;   ///< by position: where in the timeline it stands
  std::vector<double> own_us;         ///< by position: its duration; of a transfer, from the last
                                      ///< member's start on
  std::vector<uint32_t> group_begin;  ///< positions, ended by the number of operations
  std::vector<uint32_t> wait_begin;   ///< by position, into `waits`; ended by their number
  std::vector<uint32_t> waits;        ///< positions
  double recorded_us = 0;             ///< from the first start to the last end
  size_t left_out = 0;                ///< waits that would have closed a circle
};

/// Who waits for whom, as the schedule has it:
///
/// - On a rank, computation follows computation, collectives follow collectives, and so do sends
///   and receives, forward and backward each.
/// - A forward or backward waits for what it receives; a send for what it sends; a receive also for
///   the computation that used what was received before it.
/// - The first forward of a chunk waits for its parameters; gradients for the last backward (of
///   their chunk, where they have one) and for a pause behind it; what is computed behind the last
///   backward (the optimizer) for the collective before it.
/// - The n-th send of a stage to the next one meets the n-th receive there; the last stage is
///   followed by the first (chunks). Collectives are joined by whom their role says.
///
/// Steps are compiled on `threads` threads.
std::vector<StepGraph> operation_graphs(const run::OperationTimeline& timeline, size_t threads);

/// How long the step takes with other durations, nothing delayed beyond what it waits for.
/// `duration_us`: by position, kReplayLanes each. `end_us`: space for as many.
std::array<double, kReplayLanes> replay(const StepGraph& graph,
                                        const std::vector<double>& duration_us,
                                        std::vector<double>& end_us);

/// Whether its duration is a transfer's, from the moment its last member is there.
bool is_transfer(run::OperationRole role);

}  // namespace ergometer::analysis
