#include "plan/allocator.h"

#include <algorithm>

#include "plan/memory.h"
#include "plan/memory_reserve.h"

namespace ergometer::plan {
namespace {

constexpr double kMadePerLayer = 10;
constexpr double kCommunicatorBytes = 2 * kGib;

double rate_of(const spec::Job& job) {
  const bool whole = job.parallelism.tp > 1 && job.parallelism.sequence_parallel;
  return whole ? job.software.parameters.value_or("allocator.rate", 0) : 0;
}

}  // namespace

double allocator_wait_s(const spec::Job& job, const Stage& stage, double peak_bytes) {
  const double rate = rate_of(job);
  if (rate <= 0) return 0;
  double layers = 0;
  for (const Chunk& chunk : stage.chunks)
    layers +=
        static_cast<double>(std::ranges::count_if(chunk.layers, [](auto i) { return i >= 0; }));
  const spec::Training& training = job.training;
  const double whole = static_cast<double>(training.micro_batch * training.seq_length) /
                       static_cast<double>(job.parallelism.cp) *
                       static_cast<double>(job.model.hidden) * kElementBytes;
  const double held = held_tensor_bytes(job, stage);
  if (held <= 0) return 0;
  const spec::Node& node = job.cluster.node;
  const double capacity =
      node.gpu.memory_bytes - node.parameters.value_or("memory_reserve", 0) - kCommunicatorBytes;
  const double share = std::clamp((peak_bytes + held - capacity) / held, 0.0, 1.0);
  return share * kMadePerLayer * layers * static_cast<double>(job.micro_batches()) * whole / rate;
}

double allocator_wait_s(const spec::Job& job, const workload::Workload& workload,
                        const Stage& stage, int64_t stage_index) {
  if (rate_of(job) <= 0) return 0;
  return allocator_wait_s(job, stage, stage_memory(job, workload, stage, stage_index).total());
}

}  // namespace ergometer::plan
