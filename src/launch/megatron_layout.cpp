#include <fmt/format.h>

#include "base/shell.h"
#include "launch/megatron.h"
#include "spec/job/job_words.h"

namespace ergometer::launch {
namespace {

using spec::Job;
using spec::Recompute;

/// Which generation of flash attention runs is what is installed.
std::string_view backend_word(spec::AttentionBackend backend) {
  switch (backend) {
    case spec::AttentionBackend::kFused: return "auto";
    case spec::AttentionBackend::kUnfused: return "unfused";
    case spec::AttentionBackend::kCudnn: return "fused";
    case spec::AttentionBackend::kFlash1:
    case spec::AttentionBackend::kFlash2:
    case spec::AttentionBackend::kFlash3: return "flash";
  }
  return "";
}

void add_pipeline(const Job& job, Arguments& to) {
  const spec::Parallelism& p = job.parallelism;
  to.add("pipeline-model-parallel-size", p.pp);
  if (!p.stage_layers.empty()) {
    to.add("pipeline-model-parallel-layout", megatron_stage_layout(job));
  } else {
    if (p.vpp > 1 && job.model.layer_count() % (p.pp * p.vpp) == 0)
      to.add("num-layers-per-virtual-pipeline-stage", job.model.layer_count() / (p.pp * p.vpp));
    else if (p.vpp > 1)
      to.add("num-virtual-stages-per-pipeline-rank", p.vpp);
    if (p.first_stage_layers > 0) to.add("decoder-first-pipeline-num-layers", p.first_stage_layers);
    if (p.last_stage_layers > 0) to.add("decoder-last-pipeline-num-layers", p.last_stage_layers);
    to.add_if(p.embedding_counts_as_layer, "account-for-embedding-in-pipeline-split");
    to.add_if(p.loss_counts_as_layer, "account-for-loss-in-pipeline-split");
  }
  if (p.vpp > 1 && p.microbatch_group > 0 && p.microbatch_group != p.pp)
    to.add("microbatch-group-size-per-virtual-pipeline-stage", p.microbatch_group);
  to.add_if(p.vpp > 1 && !job.training.overlap_p2p, "no-overlap-p2p-communication");
  if (p.trains_apart()) to.notes.push_back("Megatron-LM's stages do not train apart");
  if (p.divides_vocabulary())
    to.notes.push_back("Megatron-LM does not divide the vocabulary over the stages");
  to.add_if(job.training.master_remainders, "use-precision-aware-optimizer");
  if (!job.training.master_weights || job.training.moments != spec::Moments::kFp32)
    to.notes.push_back("the optimizer's parameters and moments are written as FP32");
  if (p.schedule == spec::Schedule::kGpipe || p.schedule == spec::Schedule::kZbH1)
    to.notes.push_back("Megatron-LM has neither GPipe nor the zero-bubble schedule: it runs 1F1B");
  else if (p.schedule != spec::Schedule::kOneFOneB && p.schedule != spec::Schedule::kInterleaved)
    to.notes.push_back(fmt::format("Megatron-LM has no schedule {}: it runs {}",
                                   spec::to_word(p.schedule),
                                   p.vpp > 1 ? "interleaved 1F1B" : "1F1B"));
}

void add_groups(const Job& job, Arguments& to) {
  const spec::Parallelism& p = job.parallelism;
  to.add("tensor-model-parallel-size", p.tp);
  to.add_if(p.sequence_parallel, "sequence-parallel");
  if (p.cp > 1) {
    to.add("context-parallel-size", p.cp);
    to.add("cp-comm-type",
           p.cp_comm == spec::CpComm::kAllGather ? "allgather" : std::string(to_word(p.cp_comm)));
  }
  add_pipeline(job, to);
  if (job.model.experts.count > 0) {
    to.add("expert-model-parallel-size", p.ep);
    to.add("expert-tensor-parallel-size", p.etp);
  }
}

void add_sharding(const Job& job, Arguments& to) {
  const spec::Parallelism& p = job.parallelism;
  const spec::Training& t = job.training;
  const bool torch_fsdp = p.fsdp;
  if (torch_fsdp) {
    to.add_if(true, "use-torch-fsdp2");
  } else if (p.zero_stage >= 2) {
    to.add_if(true, "use-megatron-fsdp");
    to.add("data-parallel-sharding-strategy",
           p.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
  } else {
    to.add_if(p.zero_stage == 1, "use-distributed-optimizer");
  }
  to.add_if(t.overlap_grad_reduce && !torch_fsdp, "overlap-grad-reduce");
  to.add_if(t.overlap_param_gather && !torch_fsdp, "overlap-param-gather");
  // Megatron-LM asks for it with that: weights travel in 16 bit, through the gradients' buffer.
  const bool mxfp8 =
      t.precision == spec::Precision::kFp8 && t.fp8_recipe == spec::Fp8Recipe::kMxfp8;
  to.add_if(mxfp8 && t.fp8_parameters && t.overlap_param_gather && !torch_fsdp,
            "reuse-grad-buf-for-mxfp8-param-ag");
  to.add_if(!t.gradients_fp32, "grad-reduce-in-bf16");
  if (t.bucket_elements > 0) to.add("ddp-bucket-size", fmt::format("{:.0f}", t.bucket_elements));
  if (p.fsdp_shard_size > 0)
    to.notes.push_back(
        "hybrid sharding: set --num-distributed-optimizer-instances to the number of copies");
}

void add_recomputation(const spec::Training& t, Arguments& to) {
  if (t.recompute == Recompute::kNone) return;
  to.add("recompute-granularity", std::string(to_word(t.recompute)));
  if (t.recompute == Recompute::kFull) {
    const bool block = t.recompute_method == spec::RecomputeMethod::kBlock;
    to.add("recompute-method", std::string(to_word(t.recompute_method)));
    to.add("recompute-num-layers", block ? t.recompute_layers : std::max(1L, t.recompute_layers));
  } else if (!t.recompute_modules.empty()) {
    to.all.push_back({"recompute-modules", t.recompute_modules});
  }
}

void add_precision(const spec::Training& t, Arguments& to) {
  switch (t.precision) {
    case spec::Precision::kFp32: return;
    case spec::Precision::kFp16: return to.add_if(true, "fp16");
    case spec::Precision::kBf16: return to.add_if(true, "bf16");
    case spec::Precision::kFp8:
      to.add_if(true, "bf16");
      to.add("fp8-format", "hybrid");
      to.add("fp8-recipe", std::string(to_word(t.fp8_recipe)));
      to.add_if(t.fp8_parameters, "fp8-param-gather");
      return;
    case spec::Precision::kNvfp4:
      to.add_if(true, "bf16");
      to.add("fp4-format", "e2m1");
      return;
  }
}

void add_experts(const spec::Training& t, Arguments& to) {
  to.add("moe-token-dispatcher-type", std::string(to_word(t.moe_dispatcher)));
  if (t.moe_dispatcher == spec::MoeDispatcher::kDeepEp ||
      t.moe_dispatcher == spec::MoeDispatcher::kHybridEp)
    to.add("moe-flex-dispatcher-backend", std::string(flex_backend(t.moe_dispatcher)));
  to.add_if(t.moe_grouped_gemm, "moe-grouped-gemm");
  if (t.moe_capacity_factor > 0) {
    to.add("moe-expert-capacity-factor", fmt::format("{}", t.moe_capacity_factor));
    to.add_if(t.moe_pad_to_capacity, "moe-pad-expert-input-to-capacity");
  }
  to.add_if(t.moe_shared_overlap, "moe-shared-expert-overlap");
  to.add_if(t.overlap_expert_parallel, "overlap-moe-expert-parallel-comm");
}

void add_kernels(const spec::Training& t, Arguments& to) {
  if (t.attention != spec::AttentionBackend::kFused)
    to.add("attention-backend", std::string(backend_word(t.attention)));
  // Without the first Megatron-Core does not look at the second.
  to.add_if(t.fused_cross_entropy || t.linear_cross_entropy, "cross-entropy-loss-fusion");
  if (t.linear_cross_entropy) to.add("cross-entropy-fusion-impl", "linear");
  to.add_if(t.optimizer_offload, "optimizer-cpu-offload");
  to.add_if(t.optimizer_offload, "use-precision-aware-optimizer");  // it asserts that
  to.add_if(!t.grad_accumulation_fusion, "no-gradient-accumulation-fusion");
  to.add_if(!t.fused_rope, "no-rope-fusion");
  to.add_if(t.cuda_graphs, "enable-cuda-graph");
  if (t.cuda_graphs && !t.cuda_graph_scope.empty())
    to.all.push_back({"cuda-graph-scope", t.cuda_graph_scope});
}

}  // namespace

std::string megatron_stage_layout(const Job& job) {
  const std::vector<int64_t>& layers = job.parallelism.stage_layers;
  std::string text = "E";
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) text += '|';
    if (layers[i] > 0) text += fmt::format("t*{}", layers[i]);
  }
  for (int64_t i = 0; i < job.model.mtp_layers; ++i) text += 'm';
  return text + 'L';
}

Arguments megatron_layout(const Job& job) {
  const spec::Training& t = job.training;
  Arguments to;
  add_groups(job, to);
  to.add("micro-batch-size", t.micro_batch);
  to.add("global-batch-size", t.global_batch);
  to.add("seq-length", t.seq_length);
  add_precision(t, to);
  add_sharding(job, to);
  to.add_if(t.overlap_tp, "tp-comm-overlap");
  add_recomputation(t, to);
  if (job.model.experts.count > 0) add_experts(t, to);
  add_kernels(t, to);
  if (t.vocab_multiple != 128) to.add("make-vocab-size-divisible-by", t.vocab_multiple);
  return to;
}

std::string megatron_text(const Arguments& arguments) {
  std::string text;
  for (size_t i = 0; i < arguments.all.size(); ++i) {
    const Argument& argument = arguments.all[i];
    text += "  --" + argument.name;
    for (const std::string& value : argument.values) text += ' ' + base::shell_quoted(value);
    text += i + 1 < arguments.all.size() ? " \\\n" : "\n";
  }
  for (const std::string& note : arguments.notes) text += fmt::format("  # {}\n", note);
  return text;
}

}  // namespace ergometer::launch
