#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "optimize/time_cost.h"
#include "physics/energy.h"
#include "physics/gpu_power.h"
#include "spec/job/job.h"

namespace ergometer::optimize {

/// One clock of one pass of a stage.
struct ClockChoice {
  double clock_hz = 0, time_s = 0;
  double energy_j = 0;  ///< of all the stage's GPUs
};

/// Work on one GPU, played at the reference clock: `clocked_s` of its time follow the clock.
struct ClockedWork {
  double wall_s = 0, clocked_s = 0;
  physics::Energy energy;  ///< at the highest clock's voltage
};
/// What GPUs settle at in the unchanged job, mean over them.
struct Settled {
  double die_c = 0, clock_hz = 0;
};
/// Its time and the energy of `gpus` GPUs that do it, over the clocks from the settled one down to
/// the voltage's knee: the formulas of stage_tables.cpp.
std::vector<ClockChoice> clock_choices(const ClockedWork& work, const Settled& settled,
                                       double reference_hz, double gpus,
                                       const physics::GpuPower& gpu);

/// What Perseus measures on hardware, predicted: time and energy of every pass of one micro batch
/// through one chunk, over the clocks of the lattice from the voltage's knee to the clock that the
/// stage settles at in the unchanged job, from the highest down. A backward may be whole, or the
/// gradients of inputs and of weights apart; what the schedule has none of is empty, and a pass in
/// which there is nothing to do has one choice of 0 s and 0 J.
struct ChunkTable {
  std::vector<ClockChoice> forward, backward, input, weight;
  const std::vector<ClockChoice>& of(spec::SlotKind kind) const;
};
struct StageTable {
  std::vector<ChunkTable> chunks;
  double waiting_w = 0;  ///< of all the stage's GPUs while they wait for a neighbour
};

struct PipelineTables {
  std::vector<StageTable> stages;
  spec::Parallelism parallel;  ///< whose schedule it is
  double send_s = 0;           ///< from one stage to the next
  int64_t micro_batches = 0;
};

/// Of a job that trains with a pipeline, in whatever order. An input error says why there is none.
Result<PipelineTables> pipeline_tables(const spec::Job& job);

}  // namespace ergometer::optimize
