#include "engine/kernel_stream.h"

#include <algorithm>

#include "engine/views/kernel_list.h"

namespace ergometer::engine {

/// A sweep takes the longer the more ranks there are, whose kernels ever it keeps: so at most 64.
size_t KernelStream::ranks_at_once() const {
  constexpr size_t kFewest = 16, kMostSweeps = 64;
  if (engine_ == EngineKind::kEvents) return ranks_.size();  // every play takes long
  return std::max(kFewest, ranks_.size() / kMostSweeps);
}

void KernelStream::each(const Use& use) const {
  for (size_t first = 0; first < ranks_.size(); first += ranks_at_once())
    each_of(ranks_.subspan(first, std::min(ranks_at_once(), ranks_.size() - first)), use);
}

void KernelStream::each_of(std::span<const int64_t> ranks, const Use& use) const {
  const EngineInput input{.job = job_,
                          .plan = simulation_.plan,
                          .costs = simulation_.played_at.costs,
                          .clocks_hz = simulation_.played_at.clocks_hz,
                          .sampled_ranks = ranks,
                          .stretch = simulation_.stretch};
  const Timeline timeline = engine_ == EngineKind::kEvents ? simulate_events(input) : sweep(input);
  for (const run::Kernel& kernel : kernel_list(input, timeline.spans)) use(kernel);
}

}  // namespace ergometer::engine
