#pragma once

#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::workload {

/// Whether a CUDA graph holds all of forward and backward: then nothing waits for the host.
bool captures_everything(const spec::Training& training);

/// Whether the job's graphs hold this operator, where they hold parts of a layer only (Transformer
/// Engine's graphs; the scopes are Megatron-LM's --cuda-graph-scope).
bool captured(const spec::Training& training, const Operator& op);

}  // namespace ergometer::workload
