#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::campaign {

/// What a phase of post-training does: generate answers, run forward over them (reference, reward
/// and critic models), or train on them.
enum class Does : uint8_t { kRollout, kScore, kTrain };
std::string_view to_word(Does does);

struct LoopPhase {
  std::string name;
  Does does = Does::kTrain;
  std::string pool;         ///< phases of a pool share its GPUs, one after the other
  spec::Settings settings;  ///< the loop's with the phase's own over them
  /// What leaves for the host while other phases have the GPUs, as verl's options of these names.
  bool param_offload = false, grad_offload = false, optimizer_offload = false;
  int64_t max_num_seqs = 0;   ///< rollout: samples a replica decodes at a time; 0: all of its own
  int64_t ppo_epochs = 1;     ///< train: how often it goes over the samples
  bool feeds_rollout = true;  ///< train: its weights become the rollout's; a critic's do not
  std::string weights_of;     ///< score: the trained phase whose weights it runs; empty: its own
  int line = 0;
};

/// A loop of post-training as its file says it (docs/guide/post-training.md), in verl's words where
/// it has them.
struct LoopProgram {
  std::string file, name;
  int64_t prompts = 0;  ///< train_batch_size
  int64_t samples = 1;  ///< n, of each prompt
  int64_t prompt_length = 0, max_response_length = 0;
  spec::SequenceLengths response_length;
  int64_t tool_calls = 0;   ///< of every answer, one behind the other
  int64_t tool_tokens = 0;  ///< that a call's result brings
  double tool_seconds = 0;  ///< that an answer waits for a call
  int64_t seed = 1;
  int64_t tokens_of_tools() const { return tool_calls * tool_tokens; }
  double seconds_of_tools() const { return static_cast<double>(tool_calls) * tool_seconds; }
  int64_t staleness = 0;        ///< how many updates rollouts may be behind
  double host_bytes_per_s = 0;  ///< a GPU, one direction; 0: the machine's (spec/job/host_link.h)
  std::vector<LoopPhase> phases;
};

/// The first thing wrong is the error, with its line.
Result<LoopProgram> parse_loop(const std::string& text, const std::string& file);

}  // namespace ergometer::campaign
