#pragma once

#include "base/result.h"
#include "launch/arguments.h"
#include "spec/job/job.h"

namespace ergometer::launch {

/// Megatron-LM's arguments (Megatron-Core 0.12 and later) for how a job is divided, batched,
/// recomputed and overlapped. What Megatron-LM has no argument for is a note.
Arguments megatron_layout(const spec::Job& job);

/// The arguments that describe the model. An input error: Megatron-LM's arguments cannot say this
/// model.
Result<Arguments> megatron_model(const spec::Model& model);

/// That Megatron-LM would take the job's arguments; an input error names what it would refuse.
Result<void> megatron_check(const spec::Job& job);

/// That Megatron-LM runs what it is told of a job as the job says.
Result<void> megatron_same(const spec::Job& job);

/// "--name value" lines with continuations, for a shell script or to be read.
std::string megatron_text(const Arguments& arguments);

/// Uneven stages as `--pipeline-model-parallel-layout` says them: "Et*11|t*13|t*11|t*13L".
std::string megatron_stage_layout(const spec::Job& job);

}  // namespace ergometer::launch
