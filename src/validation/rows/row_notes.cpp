// What a row says in `overlap_notes`, the launch flags of its authors, and blanks that its table
// leaves for every row.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/settings/setting_names.h"
#include "validation/rows/job_draft.h"

namespace ergometer::validation {
namespace {

using spec::kPp;
using spec::kTp;
using spec::kVpp;

constexpr std::string_view kNotes = "overlap_notes";

/// A table of weak scaling that states neither micro batches nor virtual stages: a replica's whole
/// batch where it is small; pipeline transfers that overlap take interleaving.
void fill_weak_scaling(JobDraft& draft) {
  constexpr std::string_view kReason = "not stated by the table";
  constexpr int64_t kMostSequences = 4, kChunkLayers = 4;
  if (!contains(draft.cell(kNotes), "PP overlap")) return;
  const int64_t stages = draft.number(kPp, 1);
  const int64_t layers = draft.whole("layers").value_or(0);
  if (stages == 1) {
    const int64_t replicas = std::max<int64_t>(draft.whole("dp").value_or(1), 1);
    const int64_t sequences = draft.whole("gbs").value_or(1) / replicas;
    if (sequences >= 1 && sequences <= kMostSequences)
      draft.fill("micro_batch_size", fmt::format("{}", sequences),
                 "not stated by the table: a replica's whole batch");
  } else if (layers > 0 && layers % stages == 0) {
    int64_t chunks = layers / stages / kChunkLayers;
    while (chunks > 1 && layers / stages % chunks != 0) --chunks;
    if (chunks <= 1) chunks = layers / stages;  // a prime number of layers: one a chunk
    draft.fill(kVpp, fmt::format("{}", chunks), kReason);
    draft.say("overlap_p2p", "true", kNotes);
  }
}

/// DeepEP dispatches tokens between the ranks of expert parallelism: a row that names it has some.
void fill_expert_parallelism(JobDraft& draft) {
  constexpr int64_t kMost = 64;
  if (contains(draft.cell(kNotes), "DeepEP"))
    draft.fill("expert_model_parallel_size",
               fmt::format("{}", std::min(kMost, draft.number("gpus", 1))),
               "the row names DeepEP: over all ranks, at most 64");
}

/// Tests without "te" in their name use Megatron-Core's own layers, whose attention is unfused; of
/// the others, those that are deterministic and do not resume ask for it: their peak memory holds
/// the score matrices of every micro batch in flight.
bool test_attends_unfused(const JobDraft& draft) {
  const std::string_view name = draft.cell("model");
  if (draft.text("precision") == "fp8") return false;
  if (!contains(name, "_te_") && contains(name, "mcore_tp")) return true;
  return contains(draft.cell(kNotes), "deterministic") && !contains(name, "resume");
}

/// --num-layers-per-virtual-pipeline-stage.
void take_chunks(JobDraft& draft) {
  constexpr std::string_view kFlag = "layers-per-vpp-stage=";
  const std::string_view flags = draft.cell(kNotes);
  const size_t at = flags.find(kFlag);
  const auto layers = base::parse_integer(draft.cell("layers"));
  if (at == flags.npos || !layers) return;
  const std::string_view rest = flags.substr(at + kFlag.size());
  const auto each = base::parse_integer(rest.substr(0, rest.find(' ')));
  const int64_t stages = draft.number(kPp, 1);
  if (each && *each > 0 && stages > 1 && *layers % (stages * *each) == 0)
    draft.say(kVpp, fmt::format("{}", *layers / (stages * *each)), kNotes);
}

/// Layers beside a head that is as long as so many layers, so that the longest stage is as short as
/// whole layers allow, and as few as can be are moved.
int64_t layers_beside_head(int64_t layers, double head, int64_t others) {
  const auto longest = [&](int64_t last) {
    const auto other = static_cast<double>((layers - last + others - 1) / others);
    return std::max(other, static_cast<double>(last) + head);
  };
  int64_t best = layers / (others + 1);
  for (int64_t last = best; last-- > 0;)
    if (longest(last) < longest(best)) best = last;
  return best;
}

/// Layers moved away from the stage of the head to even out FLOPs. What does not divide lies on the
/// last of the other stages, which hold fewer micro batches: such rows need no more memory than
/// those of equal stages.
void take_even_flops(JobDraft& draft) {
  if (!contains(draft.cell(kNotes), "layers redistributed to even out FLOPs")) return;
  const auto hidden = draft.whole("hidden"), seq = draft.whole("seq"), vocab = draft.whole("vocab");
  const int64_t layers = draft.whole("layers").value_or(0), others = draft.number(kPp, 1) - 1;
  if (!hidden || !seq || !vocab || layers <= 0 || others < 1) return;
  // The head in layers, FLOPs forward of a token: 2 h V over 24 h^2 + 4 h s.
  const double head = static_cast<double>(*vocab) /
                      (12 * static_cast<double>(*hidden) + 2 * static_cast<double>(*seq));
  const int64_t last = layers_beside_head(layers, head, others), left = layers - last;
  std::string stages;
  for (int64_t stage = 0; stage < others; ++stage)
    stages += fmt::format("{},", left / others + (stage >= others - left % others ? 1 : 0));
  draft.say("stage_layers", stages + fmt::format("{}", last), kNotes);
}

struct Phrase {
  std::string_view words, setting, value;
};

/// Phrases of any source.
constexpr Phrase kPhrases[] = {
    {"FlashAttention-3", "attention_backend", "fa3"},
    {"Liger", "linear_cross_entropy_fusion", "true"},
    {"AdamW offload", "optimizer_cpu_offload", "true"},
    {"AllForwardAllBackward", "schedule", "gpipe"},
    {"accumulate_grad_in_fp32=False", "grad_reduce_in_bf16", "true"},
    // A table that numbers two methods, of which the first has two barriers and the second one:
    // by what they hold (tests/validation/vocabulary_test.cpp).
    {"same, 2 barriers", "vocabulary_parallel", "one-barrier"},
    {"output layer split over the pipeline, 1 barrier", "vocabulary_parallel", "two-barriers"},
    {"interlaced pipeline, tensor-parallel vocabulary", "vocabulary_parallel", "interlaced"},
    {"async TP", "tp_comm_overlap", "true"},
    {"MP mode PURE", "grad_reduce_in_bf16", "true"},
    {"MP mode DEFAULT", "grad_reduce_in_bf16", "false"},
    {"PP overlap", "overlap_p2p", "true"},
    {"use-distributed-optimizer", "zero", "1"},
    {"overlap-grad-reduce", "overlap_grad_reduce", "true"},
    {"overlap-param-gather", "overlap_param_gather", "true"},
    {"tp-comm-overlap", "tp_comm_overlap", "true"},
    {"no-rope-fusion", "apply_rope_fusion", "false"},
    {"no-gradient-accumulation-fusion", "gradient_accumulation_fusion", "false"},
    {"cross-entropy-loss-fusion", "cross_entropy_loss_fusion", "true"},
    {"cuda-graph", "cuda_graphs", "true"},
    {"moe-grouped-gemm", "moe_grouped_gemm", "true"},
    {"local transformer", "attention_backend", "unfused"},
    {"attention-backend=unfused", "attention_backend", "unfused"},
    {"attention-backend unfused", "attention_backend", "unfused"},
};

/// Tables name all overlaps for all their rows, also where there is nothing to overlap.
bool applies(const JobDraft& draft, std::string_view setting) {
  if (setting == "tp_comm_overlap") return draft.number(kTp, 1) > 1;
  return setting != "overlap_p2p" || draft.number(kPp, 1) > 1;
}

}  // namespace

void take_notes(JobDraft& draft) {
  for (const Phrase& phrase : kPhrases)
    if (contains(draft.cell(kNotes), phrase.words) && applies(draft, phrase.setting))
      draft.say(phrase.setting, std::string(phrase.value), kNotes);
  take_chunks(draft);
  take_even_flops(draft);
  fill_weak_scaling(draft);
  fill_expert_parallelism(draft);
  if (draft.source_has("CI golden") && test_attends_unfused(draft))
    draft.fill("attention_backend", "unfused", "what the tests' memory shows");
}

}  // namespace ergometer::validation
