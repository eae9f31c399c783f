#include "launch/nemo.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/collection.h"
#include "spec/job/job_words.h"

namespace ergometer::launch {
namespace {

using spec::Job;
using spec::Training;

tl::unexpected<base::Error> nemo_cannot(std::string_view what) {
  return input_error("NeMo's configuration cannot say {}", what);
}

std::string activation_word(const spec::Model& model) {
  switch (model.activation) {
    case spec::Activation::kSilu: return model.gated ? "fast-swiglu" : "silu";
    case spec::Activation::kGelu: return model.gated ? "fast-geglu" : "gelu";
    case spec::Activation::kRelu: return model.gated ? "fast-reglu" : "relu";
    case spec::Activation::kSquaredRelu: return "squared-relu";
  }
  return "gelu";
}

std::string_view yes_no(bool on) { return on ? "true" : "false"; }

class Writer {
 public:
  explicit Writer(std::vector<std::string>& notes) : notes_(notes) {}

  std::string write(const Job& job, int64_t steps) {
    open("trainer");
    trainer(job, steps);
    close();
    open("exp_manager");
    set("explicit_log_dir", "???");
    set("create_checkpoint_callback", yes_no(false));
    close();
    open("model");
    layout(job);
    batches(job);
    recomputation(job.training);
    kernels(job);
    sizes(job.model);
    if (job.model.experts.count > 0) experts(job);
    data(job);
    adapters(job.training);
    optimizer(job);
    close();
    return std::move(text_);
  }

 private:
  template <class T>
  void set(std::string_view key, const T& value) {
    text_ += fmt::format("{:{}}{}: {}\n", "", 2 * depth_, key, value);
  }
  void open(std::string_view key) {
    text_ += fmt::format("{:{}}{}:\n", "", 2 * depth_, key);
    ++depth_;
  }
  void close() { --depth_; }

  void trainer(const Job& job, int64_t steps) {
    set("num_nodes", job.nodes());
    set("devices", std::min<int64_t>(job.gpus, job.cluster.node.gpus));
    set("accelerator", "gpu");
    const spec::Precision precision = job.training.precision;
    set("precision", precision == spec::Precision::kFp16   ? "16-mixed"
                     : precision == spec::Precision::kFp32 ? "32"
                                                           : "bf16-mixed");
    set("max_steps", steps);
    set("limit_val_batches", 0);
    set("logger", yes_no(false));
    set("enable_checkpointing", yes_no(false));
  }

  void layout(const Job& job) {
    const spec::Parallelism& p = job.parallelism;
    set("mcore_gpt", yes_no(true));
    set("transformer_engine", yes_no(true));
    set("tensor_model_parallel_size", p.tp);
    set("pipeline_model_parallel_size", p.pp);
    set("virtual_pipeline_model_parallel_size", p.vpp > 1 ? std::to_string(p.vpp) : "null");
    set("context_parallel_size", p.cp);
    set("sequence_parallel", yes_no(p.sequence_parallel));
    if (p.first_stage_layers > 0) set("num_layers_in_first_pipeline_stage", p.first_stage_layers);
    if (p.last_stage_layers > 0) set("num_layers_in_last_pipeline_stage", p.last_stage_layers);
    if (p.embedding_counts_as_layer) set("account_for_embedding_in_pipeline_split", yes_no(true));
    if (p.loss_counts_as_layer) set("account_for_loss_in_pipeline_split", yes_no(true));
    set("fsdp", yes_no(p.fsdp));
    if (p.fsdp) set("fsdp_sharding_strategy", "full");
    set("megatron_amp_O2", yes_no(!p.fsdp));
    set("overlap_p2p_comm", yes_no(job.training.overlap_p2p));
    set("batch_p2p_comm", yes_no(!job.training.overlap_p2p));
    if (p.pp > 1 && !job.training.overlap_p2p && !job.training.batch_p2p_sync)
      set("batch_p2p_sync", yes_no(false));
  }

  void batches(const Job& job) {
    set("micro_batch_size", job.training.micro_batch);
    set("global_batch_size", job.training.global_batch);
    set("encoder_seq_length", job.training.seq_length);
    set("make_vocab_size_divisible_by", job.training.vocab_multiple);
  }

  void recomputation(const Training& t) {
    if (t.recompute == spec::Recompute::kNone) return;
    const bool full = t.recompute == spec::Recompute::kFull;
    set("activations_checkpoint_granularity", to_word(t.recompute));
    if (!full) {
      if (t.recompute_modules != std::vector<std::string>{"core_attn"})
        notes_.emplace_back("NeMo 1's selective recomputation is the attention core alone");
      return;
    }
    set("activations_checkpoint_method", to_word(t.recompute_method));
    set("activations_checkpoint_num_layers", std::max<int64_t>(1, t.recompute_layers));
  }

  void kernels(const Job& job) {
    const Training& t = job.training;
    set("use_flash_attention", yes_no(spec::is_fused(t.attention)));
    set("gradient_accumulation_fusion", yes_no(t.grad_accumulation_fusion));
    set("apply_rope_fusion", yes_no(t.fused_rope));
    set("cross_entropy_loss_fusion", yes_no(t.fused_cross_entropy));
    set("ub_tp_comm_overlap", yes_no(t.overlap_tp));
    if (t.cuda_graphs) set("enable_cuda_graph", yes_no(true));
    if (t.precision == spec::Precision::kFp8) {
      set("fp8", yes_no(true));
      set("fp8_hybrid", yes_no(true));
      if (t.fp8_recipe != spec::Fp8Recipe::kDelayed)
        notes_.emplace_back("NeMo 1 scales FP8 with delay");
    }
  }

  void sizes(const spec::Model& m) {
    set("num_layers", m.layer_count());
    set("hidden_size", m.hidden);
    set("ffn_hidden_size", m.ffn);
    set("num_attention_heads", m.heads);
    set("num_query_groups", m.kv_heads);
    if (m.head_dim * m.heads != m.hidden) set("kv_channels", m.head_dim);
    set("max_position_embeddings", std::max(m.max_positions, m.position_rows));
    set("activation", activation_word(m));
    set("normalization", m.norm == spec::NormKind::kRmsNorm ? "rmsnorm" : "layernorm");
    set("bias", yes_no(m.mlp_bias));
    set("position_embedding_type", m.positions == spec::PositionKind::kRotary  ? "rope"
                                   : m.positions == spec::PositionKind::kAlibi ? "alibi"
                                   : m.positions == spec::PositionKind::kNone  ? "none"
                                                                              : "learned_absolute");
    set("share_embeddings_and_output_weights", yes_no(m.tied_embeddings));
    set("hidden_dropout", m.dropout);
    set("attention_dropout", m.dropout);
  }

  void experts(const Job& job) {
    const spec::Experts& e = job.model.experts;
    set("num_moe_experts", e.count);
    set("moe_router_topk", e.top_k);
    set("moe_ffn_hidden_size", e.ffn);
    if (e.shared_ffn > 0) set("moe_shared_expert_intermediate_size", e.shared_ffn);
    set("expert_model_parallel_size", job.parallelism.ep);
    set("expert_tensor_parallel_size", job.parallelism.etp);
    const Training& t = job.training;
    set("moe_token_dispatcher_type", to_word(t.moe_dispatcher));
    set("moe_grouped_gemm", yes_no(t.moe_grouped_gemm));
    if (t.moe_capacity_factor > 0) {
      set("moe_expert_capacity_factor", t.moe_capacity_factor);
      set("moe_pad_expert_input_to_capacity", yes_no(t.moe_pad_to_capacity));
    }
    if (t.moe_shared_overlap || t.overlap_expert_parallel)
      notes_.emplace_back("NeMo 1 does not overlap the experts' transfers");
  }

  void data(const Job& job) {
    open("tokenizer");
    set("library", "null");
    set("type", "null");
    set("vocab_size", job.model.vocab);
    close();
    open("data");
    set("data_impl", "mock");
    set("seq_length", job.training.seq_length);
    if (job.training.mode == spec::Mode::kLora) {
      open("train_ds");
      set("micro_batch_size", job.training.micro_batch);
      set("global_batch_size", job.training.global_batch);
      set("max_seq_length", job.training.seq_length);
      close();
    }
    close();
  }

  void adapters(const Training& t) {
    if (t.mode != spec::Mode::kLora) return;
    constexpr std::pair<std::string_view, std::string_view> kTargets[] = {
        {"qkv", "attention_qkv"},
        {"proj", "attention_dense"},
        {"fc1", "mlp_fc1"},
        {"fc2", "mlp_fc2"}};
    std::string targets;
    for (const auto& [ours, theirs] : kTargets) {
      const bool listed = t.lora_targets.empty() || base::contains(t.lora_targets, ours);
      if (listed) targets += fmt::format("{}{}", targets.empty() ? "" : ", ", theirs);
    }
    open("peft");
    set("peft_scheme", "lora");
    open("lora_tuning");
    set("adapter_dim", t.lora_rank);
    set("target_modules", fmt::format("[{}]", targets));
    close();
    close();
  }

  void optimizer(const Job& job) {
    const Training& t = job.training;
    const bool distributed = job.parallelism.zero_stage == 1;
    open("optim");
    set("name", distributed ? "mcore_distributed_optim" : "fused_adam");
    set("lr", "1e-4");
    if (distributed) {
      set("overlap_grad_sync", yes_no(t.overlap_grad_reduce));
      set("overlap_param_sync", yes_no(t.overlap_param_gather));
    }
    set("grad_sync_dtype", t.gradients_fp32 ? "fp32" : "bf16");
    close();
  }

  std::vector<std::string>& notes_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

Result<void> nemo_check_model(const spec::Model& m) {
  const auto any = [&](auto is) { return std::ranges::any_of(m.layers, is); };
  if (m.vision != nullptr) return nemo_cannot("a vision tower");
  if (m.attention != spec::AttentionKind::kHeads) return nemo_cannot("multi-head latent attention");
  if (m.state_space.heads > 0 || any([](const spec::Layer& l) {
        return l.mixer != spec::Mixer::kAttention || !l.feed_forward;
      }))
    return nemo_cannot("layers that are not attention with a feed-forward part");
  if (any([](const spec::Layer& l) { return l.window > 0 || l.chunk > 0; }))
    return nemo_cannot("sliding or chunked attention");
  const bool mixed = any([](const spec::Layer& l) { return l.moe; }) &&
                     any([](const spec::Layer& l) { return !l.moe; });
  if (mixed || m.experts.groups > 1 || m.experts.latent > 0 || m.experts.shared_gate)
    return nemo_cannot("dense layers among expert layers, groups of experts or latent experts");
  if (m.parallel_branches || m.norms_per_layer != 2 || m.embedding_norm || m.attention_gate ||
      m.attention_sinks || m.qk_norm || m.embedding_dim != m.hidden || m.mtp_layers > 0)
    return nemo_cannot("this model's layers");
  if (m.norm == spec::NormKind::kLayerNorm && !m.norm_bias)
    return nemo_cannot("LayerNorm without a bias");
  if (m.out_bias != m.mlp_bias || m.qkv_bias != m.out_bias || m.head_bias)
    return nemo_cannot("biases in some of a model's linear layers");
  return {};
}

Result<void> nemo_check(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const Training& t = job.training;
  if (t.mode == spec::Mode::kPrefill || t.mode == spec::Mode::kDecode)
    return nemo_cannot("inference without a checkpoint; launch trains");
  if (p.zero_stage >= 2 && !p.fsdp) return nemo_cannot("ZeRO 2 or 3 without FSDP");
  if (!p.stage_layers.empty()) return nemo_cannot("stages of any number of layers");
  if (p.schedule != spec::Schedule::kOneFOneB && p.schedule != spec::Schedule::kInterleaved)
    return nemo_cannot("this pipeline schedule");
  if (p.trains_apart()) return nemo_cannot("stages that train apart");
  if (p.divides_vocabulary()) return nemo_cannot("a vocabulary divided over the stages");
  for (const char* part : {"q", "k", "v"})
    if (base::contains(t.lora_targets, part))
      return nemo_cannot("adapters of queries, keys or values alone");
  if (!t.lora_layers.empty()) return nemo_cannot("adapters in some of the layers");
  if (t.linear_cross_entropy) return nemo_cannot("a loss fused with the head's product");
  if (t.optimizer_offload) return nemo_cannot("an optimizer on the host");
  if (t.offloaded_layers > 0) return nemo_cannot("activations on the host");
  if (t.fp8_parameters) return nemo_cannot("weights kept in FP8");
  if (base::contains(t.recompute_modules, "op")) return nemo_cannot("recomputation by operator");
  if (t.precision == spec::Precision::kNvfp4) return nemo_cannot("NVFP4");
  if (t.moe_dispatcher != spec::MoeDispatcher::kAllToAll &&
      t.moe_dispatcher != spec::MoeDispatcher::kAllGather)
    return nemo_cannot("this dispatcher of tokens");
  return {};
}

Result<void> nemo_same(const Job& job) {
  const Training& t = job.training;
  if (t.recompute == spec::Recompute::kSelective &&
      t.recompute_modules != std::vector<std::string>{"core_attn"})
    return nemo_cannot("what to recompute but the attention core or whole layers");
  if (job.model.experts.count > 0 && (t.moe_shared_overlap || t.overlap_expert_parallel))
    return nemo_cannot("to overlap the experts' transfers");
  if (t.overlap_tp && (job.parallelism.fsdp || !job.parallelism.sequence_parallel))
    return nemo_cannot(
        "to overlap tensor parallelism's transfers with FSDP or without sequence parallelism");
  const bool distributed = job.parallelism.zero_stage == 1;
  if (!distributed && !job.parallelism.fsdp && (t.overlap_grad_reduce || t.overlap_param_gather))
    return nemo_cannot("to overlap data parallelism's transfers without the distributed optimizer");
  return {};
}

Result<std::string> nemo_yaml(const Job& job, int64_t steps, std::vector<std::string>& notes) {
  ERGOMETER_TRY(nemo_check(job));
  ERGOMETER_TRY(nemo_check_model(job.model));
  return Writer(notes).write(job, steps);
}

}  // namespace ergometer::launch
