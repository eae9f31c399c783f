#pragma once

#include "spec/job/job.h"

namespace ergometer::plan {

/// Bytes of a trained parameter before any sharding, by the table that opens
/// plan/memory_states.cpp: as it is trained, its gradient, and what the optimizer keeps on the GPU
/// for it.
struct StateBytes {
  double weight = 0, gradient = 0, optimizer = 0;
  double buckets = 0;               ///< of gradients, beside them
  bool shards_are_masters = false;  ///< PyTorch FSDP's FP32 shards are the master copy
};
StateBytes state_bytes(const spec::Job& job);

}  // namespace ergometer::plan
