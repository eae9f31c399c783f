#pragma once

#include <algorithm>
#include <string_view>

#include "spec/job/job.h"

// The words of a job's choices, in the order of their enumerators: what users write, and what
// reports, JSON and launch files say.
namespace ergometer::spec {

/// Lists of words hold them with bars between: "none|selective|full".
constexpr std::string_view word_at(std::string_view words, size_t index) {
  for (; index > 0; --index) words.remove_prefix(std::min(words.find('|'), words.size() - 1) + 1);
  return words.substr(0, words.find('|'));
}
/// The position of a word in such a list; -1: it is none of them.
constexpr int index_of(std::string_view words, std::string_view word) {
  for (int index = 0; !words.empty(); ++index) {
    const size_t end = std::min(words.find('|'), words.size());
    if (words.substr(0, end) == word) return index;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return -1;
}

constexpr std::string_view words_of(Schedule) {
  return "1f1b|interleaved|gpipe|zb-h1|zb-h2|looped-bfs|zb-v|v-half|v-min|dualpipe-v|file";
}
constexpr std::string_view words_of(VocabularyParallel) {
  return "none|one-barrier|two-barriers|interlaced";
}
constexpr std::string_view words_of(StageTraining) {
  return "together|local-heads|synthetic-labels";
}
constexpr std::string_view words_of(CpComm) { return "p2p|all_gather|a2a"; }
constexpr std::string_view words_of(Recompute) { return "none|selective|full"; }
constexpr std::string_view words_of(RecomputeMethod) { return "uniform|block"; }
constexpr std::string_view words_of(Precision) { return "fp32|fp16|bf16|fp8|nvfp4"; }
constexpr std::string_view words_of(Fp8Recipe) {
  return "delayed|tensorwise|rowwise|blockwise|mxfp8";
}
constexpr std::string_view words_of(SamplePacking) { return "none|length|both"; }
constexpr std::string_view words_of(Mode) { return "pretrain|lora|prefill|decode"; }
constexpr std::string_view words_of(FrozenWeights) { return "16-bit|nf4|nf4-dq|int8"; }
constexpr std::string_view words_of(Moments) { return "fp32|bf16|8-bit|fp16|fp8"; }
constexpr std::string_view words_of(AttentionBackend) { return "fused|unfused|fa1|fa2|fa3|cudnn"; }
constexpr std::string_view words_of(ExpertPlacement) { return "in-order|by-load"; }
constexpr std::string_view words_of(SequenceBatching) {
  return "packed|padded|padded-to-seq|variable";
}
constexpr std::string_view words_of(SequenceOrder) { return "random|length-balanced"; }
constexpr std::string_view words_of(Framework) { return "megatron|fsdp|nanotron"; }
constexpr std::string_view words_of(Cooling) { return "air|liquid|immersion"; }
constexpr std::string_view words_of(FabricKind) {
  return "rail-optimized|fat-tree|single-switch|rail-only|dragonfly|torus|hyperx|optical";
}
constexpr std::string_view words_of(Routing) { return "minimal|adaptive"; }
constexpr std::string_view words_of(Reconfigure) { return "job|step|phase"; }
constexpr std::string_view words_of(Sensor) { return "nvml|none"; }

template <class Choice>
  requires requires(Choice choice) { words_of(choice); }
constexpr std::string_view to_word(Choice choice) {
  return word_at(words_of(choice), static_cast<size_t>(choice));
}

/// One enumerator stands for two settings: the dispatcher, and with "flex" whose kernels it uses.
inline constexpr std::string_view kDispatcherWords = "alltoall|allgather|flex";
inline constexpr std::string_view kFlexBackendWords = "deepep|hybridep";
constexpr std::string_view to_word(MoeDispatcher dispatcher) {
  return word_at(kDispatcherWords, std::min<size_t>(static_cast<size_t>(dispatcher), 2));
}
/// Also where another dispatcher leaves it without meaning.
constexpr std::string_view flex_backend(MoeDispatcher dispatcher) {
  return word_at(kFlexBackendWords, dispatcher == MoeDispatcher::kHybridEp ? 1 : 0);
}

}  // namespace ergometer::spec
