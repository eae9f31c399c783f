#pragma once

#include <cstdint>

#include "plan/stages.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

/// Name of the operator that stands for the wait in a plan.
inline constexpr const char* kAllocatorWait = "host_allocator";

/// Seconds of a training step in which one rank of a stage waits for PyTorch's allocator to hand
/// memory back to the driver and ask for it again. 0 where the software does not say what that
/// costs (`allocator.rate`), without sequence-parallel tensors, or while memory lasts.
///
/// An asynchronous collective holds its whole-sequence tensor until the GPU has passed it, and the
/// host, which is ahead by as many launches as the driver queues, keeps allocating further ones:
///
///   E = held_tensor_bytes, of tensors of w = mbs (seq / cp) hidden 2 B each            [B]
///   f = clamp((peak + E - (capacity - 2 GiB)) / E, 0, 1)     share of E that is not to be had
///   t = f * 10 layers * micro batches * w / allocator.rate                            [s]
///
/// `peak_bytes`: what the stage needs, `StageMemory::total`. A layer makes ten such tensors in a
/// micro batch: inputs gathered and outputs not yet reduced, four forward, six backward. The 2 GiB
/// that communicators hold outside of the allocator are assumed.
double allocator_wait_s(const spec::Job& job, const Stage& stage, double peak_bytes);
/// The same with the peak that `memory` finds for the stage.
double allocator_wait_s(const spec::Job& job, const workload::Workload& workload,
                        const Stage& stage, int64_t stage_index);

}  // namespace ergometer::plan
