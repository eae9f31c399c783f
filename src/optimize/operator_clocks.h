#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "optimize/stage_tables.h"
#include "spec/job/job.h"

namespace ergometer::optimize {

/// What a GPU does at a time, by what its time follows: kernels that compute, kernels that memory
/// bounds, communication beside which no kernel runs, waiting for a neighbour or the host. A GPU
/// has one clock: what streams run at the same time shares it, and the first of these counts.
enum class WorkKind : uint8_t { kCompute, kMemory, kCommunication, kWaiting };
inline constexpr size_t kWorkKinds = 4;
std::string_view to_word(WorkKind kind);

/// A kernel, a collective or a message of a rank.
struct WorkSpan {
  double start_s = 0, end_s = 0;
  WorkKind kind = WorkKind::kCompute;
  double clocked_s = 0;  ///< of its time
  physics::Energy energy;
};
/// Time without a change of kind.
struct WorkRun {
  WorkKind kind = WorkKind::kWaiting;
  ClockedWork work;
};
/// A rank's step, in order.
using RankRuns = std::vector<WorkRun>;
/// They add up to `step_s` and to what the spans hold.
RankRuns work_runs(const std::vector<WorkSpan>& spans, double step_s);

/// One way to clock GPUs over a step.
struct ClockedStep {
  double step_s = 0, gpu_energy_j = 0;
};

struct WorkKindRow {
  double time_s = 0;     ///< of a step, mean over GPUs
  double runs = 0;       ///< of a step, the same
  double longest_s = 0;  ///< run
  double reached = 0;    ///< the share of its time behind a change's time in its runs
  double free_hz = 0;    ///< its clock where changes take no time; the lock's without such runs
  double own_hz = 0;     ///< where they take `change_s`; that of the others where none is reached
};

/// What clocks by kind of work would bring beyond one locked clock.
struct OperatorClocks {
  double change_s = 0;
  std::array<WorkKindRow, kWorkKinds> kinds;
  double lock_hz = 0;   ///< of one clock
  double other_hz = 0;  ///< by kind, of what no change reaches in time
  ClockedStep governed, locked, free, changed;
  /// What is saved beyond one locked clock, as a share of that one's energy.
  double gain() const { return 1 - changed.gpu_energy_j / locked.gpu_energy_j; }
};

struct OperatorClockTerms {
  double change_s = 0;       ///< from asking for a clock until it is there
  double most_slowdown = 0;  ///< of the step, as a share
  double reference_hz = 0;   ///< at which runs were played
  double gpus = 1;
  Settled settled;
};

/// `ranks` stand for all. The least energy for no more than the granted time of one clock for all
/// runs; and, in the time that this one takes, of one a kind, and of one a kind that is there
/// `change_s` after a run of it has begun and until `change_s` after the next run has. Runs that
/// are no longer ask for the clock of what no change reaches.
OperatorClocks operator_clocks(const std::vector<RankRuns>& ranks, const OperatorClockTerms& terms,
                               const physics::GpuPower& gpu);

/// Of a job as it is: the first rank of every stage stands for all; of a layer of experts the
/// fullest; of documents of unlike lengths the replica with most work, in the step that the job is
/// played with. An input error where nobody knows its power.
Result<OperatorClocks> operator_clocks(const spec::Job& job, double change_s, double most_slowdown);

}  // namespace ergometer::optimize
