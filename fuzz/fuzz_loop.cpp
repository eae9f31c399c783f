// A loop of post-training for `ergometer loop`: what passes its checks can be drawn, and every
// phase's settings are a job or refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "campaign/loop_file.h"
#include "check_settings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ergometer::campaign;
  // In a folder that is not there: what the input names beside itself is nobody's file or pipe.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto loop = parse_loop(text, "no-such-folder/loop.yaml");
  if (!loop) {
    if (loop.error().message.empty()) std::abort();
    return 0;
  }
  if (loop->prompts < 1 || loop->samples < 1 || loop->prompts * loop->samples > 10'000'000 ||
      loop->prompt_length < 1 || loop->max_response_length < 1 || loop->seconds_of_tools() < 0)
    std::abort();
  int rollouts = 0, trained = 0;
  for (const LoopPhase& phase : loop->phases) {
    rollouts += phase.does == Does::kRollout;
    trained += phase.does == Does::kTrain && phase.feeds_rollout;
    check_settings(phase.settings);
  }
  if (rollouts != 1 || trained != 1) std::abort();
  return 0;
}
