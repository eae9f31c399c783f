#pragma once

#include "plan/data_parallel.h"
#include "plan/sharded_units.h"
#include "plan/stages.h"
#include "plan/writer.h"

namespace ergometer::plan {

/// The wait for circuits that are made before every step.
inline constexpr const char* kReconfiguration = "circuit_reconfiguration";

/// Zeroes the gradients, where the software keeps them.
void write_step_begin(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                      OperatorTable& operators, ProgramWriter& writer);

/// What the stage waits for its allocator (allocator.h), all at once, behind the last backward.
/// Apart from the rest of the step's end, for it depends on what a micro batch holds.
void write_allocator_wait(double seconds, OperatorTable& operators, ProgramWriter& writer);

/// What a training step does once, behind the last backward, in Megatron-Core's order: gradients
/// reduced over data parallelism, the sequence-parallel sums, tied embeddings summed between first
/// and last stage, the gradient norm with its `.item()`, the optimizer, and parameters gathered
/// unless the next step does that; then the circuits of the next one, where each has its own.
void write_step_end(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
                    int64_t stage_index, OperatorTable& operators, ProgramWriter& writer,
                    DataParallel& data, ShardedUnits& units);

}  // namespace ergometer::plan
