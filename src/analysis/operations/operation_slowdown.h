#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "run/operations.h"

namespace ergometer::analysis {

/// A part of a job by itself, all else ideal: the step over the ideal one.
struct PartSlowdown {
  std::string name;  ///< of an operation; a stage's, a replica's number
  double slowdown = 1;
};

/// A stage's ranks of one replica.
struct WorkerSlowdown {
  int64_t stage = 0, replica = 0;
  double slowdown = 1;  ///< the smaller one of its stage's and its replica's
};

/// What goes away when a part of the workers gets ideal durations.
struct MendedWorkers {
  double step_s = 0;        ///< with these ideal, the others as they are
  double alone_step_s = 0;  ///< with all others ideal
  double share = 0;         ///< of (replayed - ideal), what goes away; 0 where these are equal
};

/// What would be saved by mending one thing.
struct Mending {
  std::string what;
  double step_s = 0, saved_s = 0;
};

/// How a job's steps were slowed down by parts that were slower than others: the equations 1 to 5
/// of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 25). Times in
/// seconds, means over steps.
struct OperationSlowdown {
  size_t operations = 0, steps = 0;
  run::OperationGroups groups;
  /// Stages of replicas of which nothing was recorded, and steps of which less than nine tenths of
  /// the usual step was: what stragglers cost is then that of what is there.
  int64_t missing_workers = 0, short_steps = 0;
  double recorded_step_s = 0;  ///< from the first start to the last end
  double replayed_step_s = 0;  ///< own durations, nothing delayed beyond what it waits for
  double ideal_step_s = 0;     ///< every duration its operation's mean, of transfers the median
  double slowdown = 1;         ///< replayed over ideal
  double launch_slowdown = 1;  ///< recorded over replayed
  std::vector<PartSlowdown> by_operation, by_stage, by_replica;  ///< the largest first
  std::vector<WorkerSlowdown> by_worker;                         ///< the largest first
  size_t slowest_count = 0;                   ///< of `by_worker`: the slowest 3 %, one at least
  MendedWorkers slowest_workers, last_stage;  ///< shares M_W and M_S
  double transfer_step_s = 0;                 ///< all transfers ideal, computation as it is
  /// How alike micro batches differ on all stages, and by how much
  /// (analysis/operations/operation_batches.h).
  double micro_batch_correlation = 0, micro_batch_spread = 0;
  double pause_s = 0;              ///< in pauses of the host (gc), the longest of a rank
  double even_batches_step_s = 0;  ///< with micro batches of one length
  size_t waits_left_out = 0;       ///< that would have closed a circle
  std::vector<Mending> mendings;   ///< the largest saving first
  std::vector<Finding> findings;   ///< the dearest first
};

/// Replays the timeline on `threads` threads; the result does not depend on them.
OperationSlowdown operation_slowdown(const run::OperationTimeline& timeline, size_t threads);

/// The share of the slowest workers that M_W mends.
inline constexpr double kSlowestWorkers = 0.03;

}  // namespace ergometer::analysis
