#pragma once

#include "spec/job/job.h"

namespace ergometer::engine {

/// The job with as few layers recomputed on every stage as its memory allows (full recomputation,
/// block method, `Training::recompute_stage_layers`). All of a stage's where nothing less fits. For
/// jobs of one chunk a stage that recompute whole layers.
spec::Job recomputed_by_memory(const spec::Job& job);

}  // namespace ergometer::engine
