#pragma once

#include "plan/data_parallel.h"
#include "plan/sharded_units.h"
#include "plan/stages.h"
#include "plan/writer.h"
#include "spec/job/circuits.h"

namespace ergometer::plan {

/// The wait for circuits: as an operator of the module kOptimizer for those of the next step, at a
/// step's end; of kPipeline for those of the passes and of kData for those of the step's end.
inline constexpr const char* kReconfiguration = "circuit_reconfiguration";

/// Whether a collective uses the circuits of the step's end: reductions and gathers of data
/// parallelism that nothing hides, and, behind a reduction, sums of the optimizer.
bool is_at_the_end(const spec::CircuitPhases& phases, const workload::Operator& op);

/// Zeroes the gradients, where the software keeps them. Where circuits change within the step those
/// of the passes are made meanwhile: transfers between stages wait for them, and all the stage does
/// where it sends within itself as well.
void write_step_begin(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                      OperatorTable& operators, ProgramWriter& writer);

/// What the stage waits for its allocator (allocator.h), all at once, behind the last backward.
/// Apart from the rest of the step's end, for it depends on what a micro batch holds.
void write_allocator_wait(double seconds, OperatorTable& operators, ProgramWriter& writer);

/// What a training step does once, behind the last backward, in Megatron-Core's order: gradients
/// reduced over data parallelism, the sequence-parallel sums, tied embeddings summed between first
/// and last stage, the gradient norm with its `.item()`, the optimizer, and parameters gathered
/// unless the next step does that; then the circuits of the next one, where each has its own. A
/// stage's circuits of the step's end are made when its last transfer is done, before it reduces;
/// where it only gathers, beside the optimizer.
void write_step_end(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                    int64_t stage_index, OperatorTable& operators, ProgramWriter& writer,
                    DataParallel& data, ShardedUnits& units);

}  // namespace ergometer::plan
