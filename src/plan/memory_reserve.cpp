#include "plan/memory_reserve.h"

#include <algorithm>

#include "base/parameter.h"

namespace ergometer::plan {
namespace {

constexpr double kHeldPerLayer = 3.25, kMostHeld = 65;

double layers_of(const Stage& stage) {
  double layers = 0;
  for (const Chunk& chunk : stage.chunks)
    layers += static_cast<double>(
        std::ranges::count_if(chunk.layers, [](int64_t layer) { return layer >= 0; }));
  return layers;
}

}  // namespace

double held_tensor_bytes(const spec::Job& job, const Stage& stage) {
  const spec::Parallelism& p = job.parallelism;
  if (p.tp == 1 || !p.sequence_parallel) return 0;
  const double whole = static_cast<double>(job.training.micro_batch * job.training.seq_length) /
                       static_cast<double>(p.cp) * static_cast<double>(job.model.hidden) *
                       kElementBytes;
  return std::min(kHeldPerLayer * layers_of(stage), kMostHeld) * whole;
}

Reserve memory_reserve(const spec::Job& job, const Stage& stage) {
  const base::ParameterSet& software = job.software.parameters;
  return {.share = software.value_or("memory.fragmentation", kFragmentation),
          .held = software.value_or("memory.held", 0) * held_tensor_bytes(job, stage)};
}

}  // namespace ergometer::plan
