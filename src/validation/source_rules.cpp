// Blanks that the source of a row fills: what its authors trained with, whatever the row.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/read.h"
#include "validation/job_draft.h"

namespace ergometer::validation {
namespace {

constexpr std::string_view kTp = "tensor_model_parallel_size";

bool splits_tensors(const JobDraft& draft) { return draft.number(kTp, 1) > 1; }

void fill_all(JobDraft& draft, std::string_view reason,
              std::initializer_list<std::pair<const char*, const char*>> settings) {
  for (const auto& [setting, value] : settings) draft.fill(setting, value, reason);
}

/// Megatron-LM of NVIDIA's recipes.
void fill_nvidia(JobDraft& draft) {
  constexpr std::string_view kReason = "NVIDIA's recipes";
  if (!draft.is_on("fsdp")) draft.fill("zero", "1", kReason);
  fill_all(draft, kReason,
           {{"overlap_grad_reduce", "true"},
            {"overlap_param_gather", "true"},
            {"grad_reduce_in_bf16", "true"},
            {"recompute_granularity", "none"},
            {"precision", "bf16"}});
  // User buffers came with FP8 and Hopper; on Ampere NeMo left them off.
  if (splits_tensors(draft)) draft.fill("tp_comm_overlap", "true", kReason);
  if (draft.is_on("fsdp")) draft.fill("framework", "megatron", "Megatron's own FSDP");
}

/// Megatron-LM's own scaling table: it states neither micro batches nor virtual stages, but that
/// pipeline transfers overlap, which takes interleaving.
void fill_weak_scaling(JobDraft& draft) {
  constexpr std::string_view kReason = "not stated by the table";
  constexpr int64_t kMostSequences = 4, kChunkLayers = 4;
  const int64_t stages = draft.number("pipeline_model_parallel_size", 1);
  const int64_t layers = draft.whole("layers").value_or(0);
  if (stages == 1) {
    const int64_t replicas = std::max<int64_t>(draft.whole("dp").value_or(1), 1);
    const int64_t sequences = draft.whole("gbs").value_or(1) / replicas;
    if (sequences >= 1 && sequences <= kMostSequences)
      draft.fill("micro_batch_size", fmt::format("{}", sequences),
                 "not stated by the table: a replica's whole batch");
  } else if (layers > 0 && layers % stages == 0 &&
             contains(draft.cell("overlap_notes"), "PP overlap")) {
    int64_t chunks = layers / stages / kChunkLayers;
    while (chunks > 1 && layers / stages % chunks != 0) --chunks;
    if (chunks <= 1) chunks = layers / stages;  // a prime number of layers: one a chunk
    draft.fill("virtual_pipeline_model_parallel_size", fmt::format("{}", chunks), kReason);
    draft.fill("overlap_p2p", "true", "overlap_notes");
  }
  fill_nvidia(draft);
}

void fill_vtrain(JobDraft& draft) {
  // Only a split vocabulary seems to be padded there: without tensor parallelism the head takes
  // two to three times as long a multiply-add as with it, whatever model and micro batch.
  if (draft.source_has("single-node") && !splits_tensors(draft))
    draft.fill("make_vocab_size_divisible_by", "1",
               "vTrain pads no vocabulary that tp leaves whole");
  fill_all(draft, "vTrain trains so (README, trap 10)",
           {{"sequence_parallel", "false"},
            {"zero", "0"},
            {"recompute_granularity", "full"},
            {"precision", "fp16"},
            {"overlap_grad_reduce", "false"},
            {"overlap_param_gather", "false"},
            {"tp_comm_overlap", "false"},
            {"schedule", "1f1b"},
            {"overlap_p2p", "false"},
            {"flops", "full"}});
}

void fill_bigscience(JobDraft& draft) {
  fill_all(draft, "BigScience's Megatron-DeepSpeed",
           {{"sequence_parallel", "false"},
            {"zero", "1"},
            {"recompute_granularity", "full"},
            {"precision", "bf16"},
            {"grad_reduce_in_bf16", "true"},  // as ZeRO 1 did before DeepSpeed had a BF16 optimizer
            {"overlap_grad_reduce", "false"},
            {"overlap_param_gather", "false"},
            {"schedule", "1f1b"},
            {"overlap_p2p", "false"},
            {"flops", "full"}});
}

void fill_megatron_2021(JobDraft& draft) {
  const bool zero3 = draft.is_on("fsdp");
  fill_all(draft, "Megatron-LM of the SC21 paper",
           {{"sequence_parallel", "false"},
            {"recompute_granularity", "full"},
            {"precision", "fp16"},
            {"overlap_p2p", "false"},
            {"flops", "full"}});
  if (zero3) return;
  fill_all(draft, "Megatron-LM of the SC21 paper",
           {{"zero", "0"}, {"overlap_grad_reduce", "false"}, {"overlap_param_gather", "false"}});
}

void fill_korthikanti(JobDraft& draft) {
  fill_all(draft, "Megatron-LM of the paper",
           {{"sequence_parallel",
             contains(draft.text("recompute_granularity"), "full") ? "false" : "true"},
            {"zero", "0"},
            {"precision", "fp16"},
            {"overlap_grad_reduce", "false"},
            {"overlap_param_gather", "false"},
            {"overlap_p2p", "false"},
            {"flops", "full"}});
}

/// "OneForwardOneBackwardPipelineEngine; tp_async_comm=True; ddp_bucket_cap_mb=25.0; ..."
void fill_nanotron(JobDraft& draft) {
  constexpr std::string_view kReason = "nanotron";
  const std::string_view notes = draft.cell("overlap_notes");
  if (contains(notes, "AllForwardAllBackward")) draft.say("schedule", "gpipe", "overlap_notes");
  if (contains(notes, "accumulate_grad_in_fp32=False"))
    draft.say("grad_reduce_in_bf16", "true", "overlap_notes");
  const bool replicates = draft.text("zero") == "0";
  fill_all(draft, kReason,
           {{"framework", "nanotron"},
            {"precision", "bf16"},
            {"recompute_granularity", "none"},
            {"cross_entropy_loss_fusion", "false"},
            {"make_vocab_size_divisible_by", "1"},
            {"ddp_bucket_size", "13107200"},  // ddp_bucket_cap_mb=25.0 of 16-bit gradients
            {"overlap_param_gather", "false"},
            {"overlap_p2p", "false"},
            {"grad_reduce_in_bf16", "false"}});
  draft.fill("overlap_grad_reduce", replicates ? "true" : "false",
             replicates ? "DDP's hooks" : "ZeRO-1 reduces behind the last micro batch");
  // tp_async_comm hides transfers beside weight gradients, which backward always does here, and of
  // the forward gather no more than the local part's product.
  if (splits_tensors(draft))
    draft.fill("tp_comm_overlap", "false", "tp_async_comm pipelines no GEMM");
}

void fill_mosaic(JobDraft& draft) {
  const bool pure = contains(draft.cell("overlap_notes"), "PURE");
  // SHARD_GRAD_OP gathers once before forward and keeps the parameters whole.
  const bool keeps_parameters = draft.text("zero") == "2";
  draft.fill("fsdp", keeps_parameters ? "false" : "true", "llm-foundry trains with FSDP");
  if (keeps_parameters)
    fill_all(draft, "FSDP prefetches",
             {{"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}});
  draft.fill("grad_reduce_in_bf16", pure ? "true" : "false",
             pure ? "mixed precision PURE reduces in 16 bit" : "mixed precision DEFAULT");
  fill_all(draft, "llm-foundry",
           {{"precision", "bf16"}, {"recompute_granularity", "none"}, {"framework", "fsdp"}});
}

/// DeepEP dispatches tokens between the ranks of expert parallelism: a row that names it has some.
void fill_expert_parallelism(JobDraft& draft) {
  if (!contains(draft.cell("overlap_notes"), "DeepEP")) return;
  constexpr int64_t kMost = 64;
  draft.fill("expert_model_parallel_size",
             fmt::format("{}", std::min(kMost, draft.number("gpus", 1))),
             "the row names DeepEP: over all ranks, at most 64");
}

/// The length that the training files of torchtitan and MaxText set: what the model was trained at.
void fill_trained_length(JobDraft& draft, std::string_view reason) {
  const bool llama2 = contains(draft.name.key, "llama2");
  draft.fill("seq_length", llama2 ? "4096" : "8192", reason);
}

/// torchtitan's training files recompute selectively, by operator. Since 2025 its --compile takes
/// in the loss.
void fill_torchtitan(JobDraft& draft) {
  constexpr std::string_view kReason = "torchtitan's training files";
  if (!contains(squashed(draft.cell("framework")), "torchtitan")) return;
  draft.fill("recompute_granularity", "selective", kReason);
  if (draft.text("recompute_granularity") == "selective")
    draft.fill("recompute_modules", "op", kReason);
  fill_trained_length(draft, kReason);
  if (base::parse_integer(draft.cell("year")).value_or(2025) < 2025)
    draft.fill("cross_entropy_loss_fusion", "false", "torchtitan compiles the loss since 2025");
}

void fill_torch(JobDraft& draft) {
  fill_torchtitan(draft);
  fill_expert_parallelism(draft);
  constexpr std::string_view kReason = "torchtitan's and AutoModel's FSDP2";
  const bool splits_only = draft.cell("fsdp_zero").empty() && splits_tensors(draft) &&
                           draft.number("gpus", 1) == draft.number(kTp, 1);
  if (!splits_only && !draft.has("zero")) draft.fill("fsdp", "true", kReason);
  fill_all(draft, kReason, {{"precision", "bf16"}, {"framework", "fsdp"}});
  if (splits_tensors(draft))
    draft.fill("tp_comm_overlap",
               contains(draft.cell("overlap_notes"), "async TP") ? "true" : "false",
               "async TP only where the row says so");
}

void fill_maxtext(JobDraft& draft) {
  fill_all(draft, "MaxText's FSDP",
           {{"fsdp", "true"},
            {"precision", "bf16"},
            {"recompute_granularity", "full"},
            {"framework", "fsdp"}});
  fill_trained_length(draft, "MaxText's FSDP");
}

void fill_deepspeed(JobDraft& draft) {
  const std::string_view notes = draft.cell("overlap_notes");
  if (contains(notes, "Liger")) draft.say("linear_cross_entropy_fusion", "true", "overlap_notes");
  if (contains(notes, "AdamW offload")) draft.say("optimizer_cpu_offload", "true", "overlap_notes");
  fill_all(draft, "DeepSpeed", {{"precision", "bf16"}, {"recompute_granularity", "none"}});
}

void fill_simumax(JobDraft& draft) {
  fill_all(draft, "SimuMax's measuring script",
           {{"zero", "1"},
            {"precision", "bf16"},
            {"overlap_grad_reduce", "false"},
            {"overlap_param_gather", "false"},
            {"tp_comm_overlap", "false"},
            {"recompute_granularity", "none"},
            {"grad_reduce_in_bf16", "false"}});
}

/// Whether a GPU's memory is too small for one copy of Llama 2 70B's weights in FP8 and the
/// activations: it is with 80 or 96 GB, it is not with the 141 GB of H200.
bool is_small_for_70b(const JobDraft& draft) {
  constexpr double kEnough = 128e9;
  const auto cluster = spec::read_cluster(std::string(draft.text("cluster")));
  return cluster && cluster->node.gpu.memory_bytes < kEnough;
}

/// Layouts where a log does not say: those of the configurations published with NVIDIA's
/// submissions, which others are taken to follow.
void fill_mlperf_layout(JobDraft& draft) {
  constexpr std::string_view kReason = "as NVIDIA's submissions (config_*.sh)";
  const std::string& model = draft.name.key;
  const bool gb300 = contains(draft.cell("gpu"), "GB300");
  // Round 4.0 split on all.
  const bool splits = contains(draft.cell("release"), "v4.0") || is_small_for_70b(draft);
  const auto sizes = [&](const char* tp, const char* pp, const char* vpp, const char* cp) {
    if (draft.has(kTp)) return;
    fill_all(draft, kReason,
             {{"tensor_model_parallel_size", tp},
              {"pipeline_model_parallel_size", pp},
              {"context_parallel_size", cp}});
    if (draft.number("pipeline_model_parallel_size", 1) > 1)
      draft.fill("virtual_pipeline_model_parallel_size", vpp, kReason);
  };
  if (contains(model, "175b")) sizes("4", "8", "4", "1");
  if (contains(model, "405b")) sizes(gb300 ? "2" : "4", "8", "8", "2");
  if (draft.has("lora")) draft.fill(kTp, splits ? "4" : "1", kReason);
}

void fill_mlperf(JobDraft& draft) {
  constexpr std::string_view kReason = "MLPerf submissions";
  const bool amd = contains(squashed(draft.cell("gpu")), "mi3");
  fill_mlperf_layout(draft);
  const bool lora = draft.has("lora");
  fill_all(draft, kReason,
           {{"precision", "fp8"},
            {"zero", "1"},
            {"recompute_granularity", "none"},
            {"grad_reduce_in_bf16", "true"}});
  if (splits_tensors(draft) && !amd) draft.fill("tp_comm_overlap", "true", kReason);
  const std::string overlap = lora ? "false" : "true";
  draft.fill("overlap_grad_reduce", overlap, lora ? "adapters only" : kReason);
  draft.fill("overlap_param_gather", overlap, lora ? "adapters only" : kReason);
}

/// Tests without "te" in their name use Megatron-Core's own layers, whose attention is unfused; of
/// the others, those that are deterministic and do not resume ask for it: their peak memory holds
/// the score matrices of every micro batch in flight.
bool ci_attends_unfused(const JobDraft& draft) {
  const std::string_view name = draft.cell("model");
  if (!contains(name, "_te_") && contains(name, "mcore_tp"))
    return draft.text("precision") != "fp8";
  return contains(draft.cell("overlap_notes"), "deterministic") && !contains(name, "resume") &&
         draft.text("precision") != "fp8";
}

/// --num-layers-per-virtual-pipeline-stage.
void fill_ci_chunks(JobDraft& draft) {
  constexpr std::string_view kFlag = "layers-per-vpp-stage=";
  const std::string_view flags = draft.cell("overlap_notes");
  const size_t at = flags.find(kFlag);
  const auto layers = base::parse_integer(draft.cell("layers"));
  if (at == flags.npos || !layers) return;
  const std::string_view rest = flags.substr(at + kFlag.size());
  const auto each = base::parse_integer(rest.substr(0, rest.find(' ')));
  const int64_t stages = draft.number("pipeline_model_parallel_size", 1);
  if (each && *each > 0 && stages > 1 && *layers % (stages * *each) == 0)
    draft.say("virtual_pipeline_model_parallel_size", fmt::format("{}", *layers / (stages * *each)),
              "overlap_notes");
}

/// One of Megatron-LM's functional tests: its flags are in `overlap_notes`.
void fill_ci(JobDraft& draft) {
  const std::string_view flags = draft.cell("overlap_notes");
  const auto flag = [&](std::string_view name, const char* setting, const char* value,
                        const char* otherwise) {
    if (contains(flags, name))
      draft.say(setting, value, "overlap_notes");
    else
      draft.fill(setting, otherwise, "Megatron-LM's default");
  };
  flag("use-distributed-optimizer", "zero", "1", "0");
  flag("overlap-grad-reduce", "overlap_grad_reduce", "true", "false");
  flag("overlap-param-gather", "overlap_param_gather", "true", "false");
  flag("tp-comm-overlap", "tp_comm_overlap", "true", "false");
  flag("no-rope-fusion", "apply_rope_fusion", "false", "true");
  flag("no-gradient-accumulation-fusion", "gradient_accumulation_fusion", "false", "true");
  flag("cross-entropy-loss-fusion", "cross_entropy_loss_fusion", "true", "false");
  flag("cuda-graph", "cuda_graphs", "true", "false");
  flag("moe-grouped-gemm", "moe_grouped_gemm", "true", "false");
  if (contains(flags, "local transformer") || contains(flags, "attention-backend=unfused") ||
      contains(flags, "attention-backend unfused"))
    draft.say("attention_backend", "unfused", "overlap_notes");
  if (ci_attends_unfused(draft))
    draft.fill("attention_backend", "unfused", "what the tests' memory shows");
  fill_ci_chunks(draft);
  const bool interleaved = draft.number("virtual_pipeline_model_parallel_size", 1) > 1;
  draft.fill("batch_p2p_sync", interleaved ? "false" : "true", "Megatron-LM's default");
  fill_all(
      draft, "Megatron-LM's default",
      {{"precision", "bf16"}, {"recompute_granularity", "none"}, {"sequence_parallel", "false"}});
}

struct Rule {
  std::string_view source, framework;  ///< either is enough; empty: no matter
  void (*fill)(JobDraft&);
};
constexpr std::array kRules = std::to_array<Rule>({
    {"vTrain", "", fill_vtrain},
    {"BigScience", "", fill_bigscience},
    {"Narayanan", "", fill_megatron_2021},
    {"Korthikanti", "", fill_korthikanti},
    {"nanotron", "nanotron", fill_nanotron},
    {"MosaicML", "foundry", fill_mosaic},
    {"torchtitan", "torchtitan", fill_torch},
    {"AutoModel", "AutoModel", fill_torch},
    {"MaxText", "MaxText", fill_maxtext},
    {"SimuMax", "SimuMax", fill_simumax},
    {"MLPerf", "", fill_mlperf},
    {"CI golden", "", fill_ci},
    {"Megatron-LM README", "", fill_weak_scaling},
    {"DeepSpeed", "DeepSpeed", fill_deepspeed},
    {"NVIDIA", "NeMo", fill_nvidia},
    {"Megatron", "Megatron", fill_nvidia},
    {"Primus", "Primus", fill_nvidia},
});

}  // namespace

void fill_from_source(JobDraft& draft) {
  for (const Rule& rule : kRules) {
    const bool framework =
        !rule.framework.empty() && contains(draft.cell("framework"), rule.framework);
    if (!framework && (rule.source.empty() || !draft.source_has(rule.source))) continue;
    rule.fill(draft);
    break;
  }
  fill_software(draft);
  if (contains(draft.cell("overlap_notes"), "FlashAttention-3"))
    draft.say("attention_backend", "fa3", "overlap_notes");
}

}  // namespace ergometer::validation
