// What `ergometer swarm` reads of peers, and a short play of what it takes: rates are rates, time
// goes on, and every micro batch of every step is done by a peer of every stage.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "swarm/play.h"

namespace {

using namespace ergometer::swarm;

constexpr int64_t kMicroBatches = 4, kSteps = 2, kStages = 2, kMostPeers = 64;

Pipeline pipeline_of(const std::vector<PeerKind>& kinds) {
  Pipeline pipeline{.micro_batches = kMicroBatches,
                    .border_bytes = 1e6,
                    .stages = {{1e6, 4e6}, {1e6, 4e6}},
                    .kinds = kinds,
                    .work = {}};
  pipeline.work.assign(kinds.size(), {{0.1, 0.2, 0.01}, {0.1, 0.2, 0.01}});
  return pipeline;
}

void check_play(const std::vector<PeerKind>& kinds) {
  const auto outcome = play(pipeline_of(kinds), {.steps = kSteps});
  if (!outcome) {
    if (outcome.error().message.empty()) std::abort();
    return;
  }
  if (outcome->step_s.size() != kSteps || !(outcome->total_s > 0)) std::abort();
  for (const Share& stage : outcome->stages)
    if (stage.micro_batches < kMicroBatches * kSteps) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto kinds = parse_peers(text, "peers.yaml");
  if (!kinds) {
    if (kinds.error().message.empty()) std::abort();
    return 0;
  }
  int64_t peers = 0;
  for (const PeerKind& kind : *kinds) {
    peers += kind.count;
    for (const PeerKind& other : *kinds)
      if (!(rate_between(kind, other) > 0) || std::isinf(rate_between(kind, other))) std::abort();
  }
  if (peers >= kStages && peers <= kMostPeers) check_play(*kinds);
  return 0;
}
