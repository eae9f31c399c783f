#include "intake/config/fine_tuning_words.h"

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/config/fine_tuning.h"

namespace ergometer::intake {
namespace {

using Takes = FineTuningWord::Takes;

constexpr std::array kWords = std::to_array<FineTuningWord>({
    {"OpenRLHF", "pretrain", "model", Takes::kModel, "", ""},
    {"OpenRLHF", "train_batch_size", "global_batch_size", Takes::kCount, "128", ""},
    {"OpenRLHF", "micro_train_batch_size", "micro_batch_size", Takes::kCount, "8", ""},
    {"OpenRLHF", "max_len", "seq_length", Takes::kCount, "2048", ""},
    {"OpenRLHF", "zero_stage", "zero", Takes::kCount, "2", ""},
    {"OpenRLHF", "ring_attn_size", "context_parallel_size", Takes::kCount, "", ""},
    {"OpenRLHF", "ds_tensor_parallel_size", "tensor_model_parallel_size", Takes::kCount, "", ""},
    {"OpenRLHF", "param_dtype", "precision", Takes::kPrecision, "bf16", ""},
    {"OpenRLHF", "bf16", "precision", Takes::kSwitch, "", "bf16"},
    {"OpenRLHF", "gradient_checkpointing", "recompute_granularity", Takes::kSwitch, "none", "full"},
    {"OpenRLHF", "adam_offload", "optimizer_cpu_offload", Takes::kSwitch, "", "true"},
    {"OpenRLHF", "flash_attn", "attention_backend", Takes::kSwitch, "", "fa2"},
    {"OpenRLHF", "attn_implementation", "attention_backend", Takes::kAttention, "", ""},
    {"OpenRLHF", "use_liger_kernel", "linear_cross_entropy_fusion", Takes::kSwitch, "", "true"},

    {"verl", "model.partial_pretrain", "model", Takes::kModel, "", ""},
    {"verl", "data.train_batch_size", "global_batch_size", Takes::kCount, "256", ""},
    {"verl", "data.micro_batch_size_per_gpu", "micro_batch_size", Takes::kCount, "4", ""},
    {"verl", "data.max_length", "seq_length", Takes::kCount, "1024", ""},
    {"verl", "ulysses_sequence_parallel_size", "context_parallel_size", Takes::kCount, "", ""},
    {"verl", "model.enable_gradient_checkpointing", "recompute_granularity", Takes::kSwitch, "full",
     "full"},
    {"verl", "model.use_liger", "linear_cross_entropy_fusion", Takes::kSwitch, "", "true"},

    {"LitGPT", "model_name", "model", Takes::kModel, "", ""},
    {"LitGPT", "checkpoint_dir", "model", Takes::kModel, "", ""},
    {"LitGPT", "train.micro_batch_size", "micro_batch_size", Takes::kCount, "", ""},
    {"LitGPT", "train.global_batch_size", "global_batch_size", Takes::kCount, "", ""},
    {"LitGPT", "train.max_seq_length", "seq_length", Takes::kCount, "", ""},
    {"LitGPT", "precision", "precision", Takes::kPrecision, "bf16", ""},

    {"NeMo AutoModel", "model.pretrained_model_name_or_path", "model", Takes::kModel, "", ""},
    {"NeMo AutoModel", "model.config.pretrained_model_name_or_path", "model", Takes::kModel, "",
     ""},
    {"NeMo AutoModel", "step_scheduler.local_batch_size", "micro_batch_size", Takes::kCount, "1",
     ""},
    {"NeMo AutoModel", "step_scheduler.global_batch_size", "global_batch_size", Takes::kCount, "",
     ""},
    {"NeMo AutoModel", "dataset.seq_length", "seq_length", Takes::kCount, "", ""},
    {"NeMo AutoModel", "dataset.seq_len", "seq_length", Takes::kCount, "", ""},
    {"NeMo AutoModel", "packed_sequence.packed_sequence_size", "seq_length", Takes::kCount, "", ""},
    {"NeMo AutoModel", "model.torch_dtype", "precision", Takes::kPrecision, "bf16", ""},
    {"NeMo AutoModel", "model.attn_implementation", "attention_backend", Takes::kAttention, "", ""},
    {"NeMo AutoModel", "distributed.tp_size", "tensor_model_parallel_size", Takes::kCount, "", ""},
    {"NeMo AutoModel", "distributed.cp_size", "context_parallel_size", Takes::kCount, "", ""},
    {"NeMo AutoModel", "distributed.pp_size", "pipeline_model_parallel_size", Takes::kCount, "",
     ""},
    {"NeMo AutoModel", "distributed.ep_size", "expert_model_parallel_size", Takes::kCount, "", ""},
    {"NeMo AutoModel", "distributed.sequence_parallel", "sequence_parallel", Takes::kSwitch,
     "false", "true"},
    {"NeMo AutoModel", "distributed.activation_checkpointing", "recompute_granularity",
     Takes::kSwitch, "none", "full"},

    {"llama-recipes", "model_name", "model", Takes::kModel, "", ""},
    {"llama-recipes", "batch_size_training", "micro_batch_size", Takes::kCount, "4", ""},
    {"llama-recipes", "gradient_accumulation_steps", "gradient_accumulation_steps", Takes::kCount,
     "1", ""},
    {"llama-recipes", "context_length", "seq_length", Takes::kCount, "4096", ""},
    {"llama-recipes", "use_fp16", "precision", Takes::kSwitch, "bf16", "fp16"},
    {"llama-recipes", "fsdp_config.fsdp_activation_checkpointing", "recompute_granularity",
     Takes::kSwitch, "full", "full"},
    {"llama-recipes", "use_fast_kernels", "attention_backend", Takes::kSwitch, "", "fused"},

    {"ColossalAI", "pretrained", "model", Takes::kModel, "", ""},
    {"ColossalAI", "model_path", "model", Takes::kModel, "", ""},
    {"ColossalAI", "pretrain", "model", Takes::kModel, "", ""},
    {"ColossalAI", "max_length", "seq_length", Takes::kCount, "", ""},
    {"ColossalAI", "max_len", "seq_length", Takes::kCount, "", ""},
    {"ColossalAI", "accumulation_steps", "gradient_accumulation_steps", Takes::kCount, "1", ""},
    {"ColossalAI", "mixed_precision", "precision", Takes::kPrecision, "fp16", ""},
    {"ColossalAI", "use_grad_checkpoint", "recompute_granularity", Takes::kSwitch, "none", "full"},
    {"ColossalAI", "grad_checkpoint", "recompute_granularity", Takes::kSwitch, "", "full"},
    {"ColossalAI", "use_flash_attn", "attention_backend", Takes::kSwitch, "", "fa2"},
});

/// Words that are not one setting.
constexpr std::array kOthers = std::to_array<std::string_view>({"lora_rank",
                                                                "lora_r",
                                                                "target_modules",
                                                                "use_peft",
                                                                "peft_method",
                                                                "enable_fsdp",
                                                                "plugin",
                                                                "batch_size",
                                                                "tp",
                                                                "pp",
                                                                "sp",
                                                                "zero_stage",
                                                                "zero",
                                                                "microbatch_size",
                                                                "devices",
                                                                "num_nodes",
                                                                "nproc_per_node",
                                                                "nnodes",
                                                                "quantization",
                                                                "fsdp_config.pure_bf16",
                                                                "fsdp_config.sharding_strategy",
                                                                "batching_strategy",
                                                                "packing_samples",
                                                                "model.lora_rank",
                                                                "model.target_modules",
                                                                "quantize",
                                                                "load_in_4bit",
                                                                "enable_sequence_parallelism",
                                                                "sp_mode",
                                                                "lora_query",
                                                                "lora_key",
                                                                "lora_value",
                                                                "lora_projection",
                                                                "lora_mlp",
                                                                "lora_head"});

}  // namespace

std::span<const FineTuningWord> fine_tuning_words() { return kWords; }

std::string_view fine_tuning_framework(std::string_view foreign, std::string_view program) {
  const auto part = [&](std::string_view word) { return base::contains(program, word); };
  if (foreign == "OpenRLHF") return part("train_sft") ? foreign : "";
  if (foreign == "verl") return part("sft_trainer") ? foreign : "";
  if (foreign == "LitGPT" || foreign == "NeMo AutoModel") return foreign;
  // Of its programs those for fine-tuning take words; its benchmarks take letters.
  if (foreign == "ColossalAI") return part("train") || part("finetune") ? foreign : "";
  if (part("llama_recipes") || part("llama_cookbook")) return "llama-recipes";
  return "";
}

bool fine_tuning_reads(std::string_view word) {
  return std::ranges::any_of(kWords, [&](const FineTuningWord& it) { return it.word == word; }) ||
         base::contains(kOthers, word);
}

bool fine_tuning_switch(std::string_view word) {
  return std::ranges::any_of(kWords, [&](const FineTuningWord& it) {
    return it.word == word && it.takes == Takes::kSwitch;
  });
}

}  // namespace ergometer::intake
