// What Megatron-LM's validate_args and TransformerConfig assert (Megatron-Core 0.12 to 0.15), of
// the jobs that Ergometer can predict.
#include <fmt/format.h>

#include <algorithm>

#include "base/collection.h"
#include "launch/megatron.h"
#include "spec/job/job_words.h"

namespace ergometer::launch {
namespace {

using spec::Job;

tl::unexpected<base::Error> refuses(std::string_view what) {
  return input_error("Megatron-LM would refuse this job: {}", what);
}
tl::unexpected<base::Error> megatron_cannot(std::string_view what) {
  return input_error("Megatron-LM's pretrain_gpt.py has no argument for {}", what);
}

Result<void> check_pipeline(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (p.schedule == spec::Schedule::kGpipe) return megatron_cannot("the GPipe schedule; take 1f1b");
  if (p.schedule == spec::Schedule::kZbH1)
    return megatron_cannot("the zero-bubble schedule; take 1f1b");
  if (p.schedule != spec::Schedule::kOneFOneB && p.schedule != spec::Schedule::kInterleaved)
    return megatron_cannot(
        fmt::format("the schedule {}; take 1f1b or interleaved", spec::to_word(p.schedule)));
  if (p.trains_apart()) return megatron_cannot("stages that train apart");
  if (p.divides_vocabulary())
    return megatron_cannot(
        "a vocabulary divided over the stages; only the fork sail-sg/VocabularyParallelism runs "
        "it");
  if (p.vpp > 1 && p.pp == 2 && !job.training.overlap_p2p)
    return refuses("interleaving two stages needs --overlap-p2p");
  if (!job.training.recompute_stage_layers.empty())
    return megatron_cannot("a number of recomputed layers by stage");
  return {};
}

Result<void> check_recomputation(const spec::Training& t) {
  const auto& modules = t.recompute_modules;
  if (base::contains(modules, "op"))
    return megatron_cannot(
        "recomputation by operator; take modules of Megatron-Core, or torchtitan");
  return {};
}

Result<void> check_precision(const spec::Training& t) {
  if (t.precision == spec::Precision::kNvfp4 && t.fp8_parameters)
    return input_error(
        "Megatron-LM's arguments cannot say --fp8-param-gather with --fp4; leave it out");
  if (t.precision == spec::Precision::kFp8 && t.fp8_recipe == spec::Fp8Recipe::kRowwise)
    return megatron_cannot("FP8 with a scale a row; take tensorwise");
  return {};
}

Result<void> check_tensor(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (job.model.attention == spec::AttentionKind::kHeads && job.model.kv_heads % p.tp != 0)
    return refuses(
        fmt::format("tp {} does not divide {} key/value heads", p.tp, job.model.kv_heads));
  if (job.training.overlap_tp && !p.sequence_parallel)
    return refuses("--tp-comm-overlap needs --sequence-parallel");
  if (job.model.experts.count > 0 && p.tp > 1 && !p.sequence_parallel)
    return refuses("experts with tp above 1 need --sequence-parallel");
  return {};
}

/// Transformer Engine's all-to-all gives every rank whole heads, of keys and values, too.
Result<void> check_context(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const spec::Model& m = job.model;
  if (p.cp == 1 || p.cp_comm != spec::CpComm::kAllToAll ||
      m.attention != spec::AttentionKind::kHeads || m.kv_heads / p.tp % p.cp == 0)
    return {};
  return refuses(
      fmt::format("--cp-comm-type a2a needs a number of key/value heads a rank that cp {} divides; "
                  "{} over tp {} are {}; take p2p",
                  p.cp, m.kv_heads, p.tp, m.kv_heads / p.tp));
}

Result<void> check_experts(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const spec::Training& t = job.training;
  if (!t.overlap_expert_parallel) return {};
  constexpr std::string_view kFlag = "--overlap-moe-expert-parallel-comm";
  if (job.model.experts.count == 0 || p.ep == 1)
    return refuses(fmt::format("{} needs experts and --ep above 1", kFlag));
  if (p.pp > 1 && p.vpp == 1)
    return refuses(fmt::format("{} with --pp above 1 needs --vpp above 1", kFlag));
  if (t.recompute == spec::Recompute::kFull)
    return refuses(fmt::format("{} takes no full recomputation", kFlag));
  if (t.moe_dispatcher == spec::MoeDispatcher::kAllGather)
    return refuses(fmt::format("{} takes no all-gather of tokens", kFlag));
  if (t.moe_shared_overlap)
    return refuses(fmt::format("{} takes no --moe-shared-expert-overlap", kFlag));
  if (t.precision == spec::Precision::kFp32)
    return refuses(fmt::format("{} needs --bf16 or --fp16", kFlag));
  return {};
}

Result<void> check_sharding(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  const spec::Training& t = job.training;
  if (p.fsdp_shard_size > 0 && p.fsdp_shard_size != p.dp) return megatron_cannot("hybrid sharding");
  if (!p.fsdp && p.zero_stage >= 2)
    return megatron_cannot(
        "ZeRO 2 or 3 that is the same in all versions (Megatron-FSDP); take --zero 1 or --fsdp");
  if (p.fsdp && p.ep > 1) return refuses("--use-torch-fsdp2 takes no expert parallelism");
  if (p.fsdp && job.model.tied_embeddings)
    return refuses("--use-torch-fsdp2 takes no model whose embedding is its head, too");
  if (p.fsdp && t.precision == spec::Precision::kFp16)
    return refuses("--use-torch-fsdp2 takes no FP16");
  if (t.optimizer_offload && (p.fsdp || p.zero_stage == 0))
    return refuses("--optimizer-cpu-offload needs --zero 1");
  if (t.offloaded_layers > 0) return megatron_cannot("activations on the host");
  if (t.overlap_param_gather && !p.fsdp && p.zero_stage == 0)
    return refuses("--overlap-param-gather needs --zero 1");
  if (t.overlap_param_gather && !p.fsdp && !t.overlap_grad_reduce)
    return refuses("--overlap-param-gather needs --overlap-grad-reduce");
  return {};
}

}  // namespace

Result<void> megatron_same(const Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (p.pp > 1 && p.vpp == 1 && job.training.overlap_p2p)
    return megatron_cannot("transfers beside compute in a pipeline that is not interleaved");
  return {};
}

Result<void> megatron_check(const Job& job) {
  if (job.training.mode != spec::Mode::kPretrain)
    return megatron_cannot("anything but pre-training");
  ERGOMETER_TRY(check_pipeline(job));
  ERGOMETER_TRY(check_recomputation(job.training));
  ERGOMETER_TRY(check_precision(job.training));
  ERGOMETER_TRY(check_tensor(job));
  ERGOMETER_TRY(check_context(job));
  ERGOMETER_TRY(check_experts(job));
  ERGOMETER_TRY(check_sharding(job));
  const spec::Model& m = job.model;
  if (m.positions == spec::PositionKind::kLearned &&
      job.training.seq_length > std::max(m.max_positions, m.position_rows))
    return refuses(fmt::format("{} has positions for {} tokens, fewer than --seq-length {}", m.name,
                               std::max(m.max_positions, m.position_rows),
                               job.training.seq_length));
  return {};
}

}  // namespace ergometer::launch
