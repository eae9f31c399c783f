#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/stages.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::plan {

inline constexpr double kGib = 1024.0 * 1024 * 1024;

/// Peak memory of the ranks of one stage, bytes.
struct StageMemory {
  int64_t stage = 0;
  double capacity = 0;  ///< usable by the framework on one GPU; the least of the stage's kinds
  std::string gpu;      ///< in a cluster of unlike nodes, that with the least
  double weights = 0, gradients = 0, optimizer = 0, activations = 0;
  double other =
      0;  ///< workspaces, loss buffers, gathered FSDP units, dummy weight gradients, KV cache
  std::vector<std::pair<std::string, double>> parts;  ///< finer, for --explain; sums to the total
  double reserved = 0;  ///< what the allocator needs beyond the total (`memory_reserve`)
  double total() const { return weights + gradients + optimizer + activations + other; }
  double needed() const { return total() + reserved; }
};

struct MemoryReport {
  std::vector<StageMemory> stages;
  int64_t worst_stage = 0;          ///< that needs most of what its GPUs have
  double capacity = 0;              ///< usable by the framework on one GPU of the worst stage
  double allocated_after_step = 0;  ///< worst stage, between steps: states and lasting buffers, no
                                    ///< activations (what nanotron reports)
  bool fits = true;
  const StageMemory& worst() const { return stages[static_cast<size_t>(worst_stage)]; }
};

StageMemory stage_memory(const spec::Job& job, const workload::Workload& workload,
                         const Stage& stage, int64_t stage_index);
MemoryReport memory(const spec::Job& job, const workload::Workload& workload,
                    const std::vector<Stage>& stages);

/// Empty where the job fits. "does not fit: needs 97.1 of 79.1 GiB on stage 3; the largest part is
/// activations (41.2 GiB); try --recompute full or --tp 4": of the changes that a user may type
/// those that make it fit by themselves; where none does, several together that do, or how near
/// they come. Every one was tried.
std::string memory_advice(const spec::Job& job, const MemoryReport& report);

/// What a checkpoint of the job holds, bytes, each value once: parameters that are trained and
/// their optimizer states, in the widths that the job keeps them in (2 + 12 bytes a parameter in
/// 16 bit with an FP32 master and two moments; 4 + 8 without a master).
double checkpoint_bytes(const spec::Job& job, const workload::Workload& workload);

}  // namespace ergometer::plan
