#include <gtest/gtest.h>

#include <map>
#include <string>

#include "plan/data_parallel.h"
#include "plan/memory_parts.h"
#include "plan/plan.h"
#include "plan/test_job.h"
#include "spec/job/compression.h"

// Bytes of every kind of traffic in whole programs against the closed forms of parallel training.
// Sizes are those of the whole gathered or reduced buffer (all-gather, reduce-scatter, all-reduce),
// of what a rank holds (all-to-all) or sends (send/recv). A micro batch has n = b s / c tokens on a
// rank, each of h numbers of 2 bytes; S = 2 n h is the residual stream.

namespace ergometer::plan {
namespace {

using workload::CollectiveKind;
using workload::GroupKind;

/// Of all that a rank of `role` sends in a step: the instruction and its operator.
template <class Take>
void for_each_sent(const Plan& plan, size_t role, const Take& take) {
  for (const Instruction& it : plan.roles[role].program)
    if (it.kind == InstructionKind::kCollective || it.kind == InstructionKind::kWorld ||
        it.kind == InstructionKind::kSend)
      take(it, plan.operators[static_cast<size_t>(it.op)]);
}

std::map<std::string, double> bytes_by_name(const Plan& plan, size_t role) {
  std::map<std::string, double> bytes;
  for_each_sent(plan, role, [&](const Instruction&, const workload::Operator& op) {
    bytes[op.name] += op.comm_bytes;
  });
  return bytes;
}

double sum_of(const Plan& plan, size_t role, GroupKind group, CollectiveKind kind) {
  double bytes = 0;
  for_each_sent(plan, role, [&](const Instruction&, const workload::Operator& op) {
    if (op.group == group && op.collective == kind) bytes += op.comm_bytes;
  });
  return bytes;
}

/// Tensor-parallel traffic of decoder layers alone, loss, embedding and head left out.
double layer_bytes(const Plan& plan, size_t role, GroupKind group, CollectiveKind kind) {
  double bytes = 0;
  for_each_sent(plan, role, [&](const Instruction& it, const workload::Operator& op) {
    if (it.kind == InstructionKind::kCollective && it.layer >= 0 && op.group == group &&
        op.collective == kind)
      bytes += op.comm_bytes;
  });
  return bytes;
}

Plan lowered(const spec::Job& job) { return make_plan(job, workload::lower(job)); }

/// The model of the test jobs: h 64, 8 heads of 8, 8 layers, sequence 128, micro batch 1.
constexpr double kStream = 2 * 128 * 64;

TEST(Bytes, CompressionSendsLessAndAddsKernels) {
  spec::Job job = test::make_job({.pp = 2, .dp = 2, .micro_batches = 4, .layers = 4});
  job.parallelism.zero_stage = 0;
  const Plan plain = make_plan(job, test::fake_workload(job));
  const spec::Compression int8{spec::Compression::Kind::kInt8, 1};
  spec::compress_activations(job, int8);
  spec::compress_gradients(job, int8);
  const Plan packed = make_plan(job, test::fake_workload(job));
  const double value = 1 + 4.0 / 4096;
  const auto before = bytes_by_name(plain, 0), now = bytes_by_name(packed, 0);
  EXPECT_DOUBLE_EQ(now.at("send_forward"), before.at("send_forward") / 2 * value);
  EXPECT_DOUBLE_EQ(now.at("grad_all_reduce"), before.at("grad_all_reduce") / 4 * value);
  std::map<std::string, int> kernels;
  for (const Instruction& it : packed.roles[0].program)
    if (it.kind == InstructionKind::kCompute)
      ++kernels[packed.operators[static_cast<size_t>(it.op)].name];
  EXPECT_EQ(kernels["compress_border"], 4);  // of each micro batch, forward
  EXPECT_EQ(kernels["decompress_border"], 4);
  EXPECT_EQ(kernels["grad_all_reduce_compress"], 1);
  EXPECT_EQ(kernels["grad_all_reduce_decompress"], 1);
}

TEST(Bytes, TensorParallelismWithoutSequenceParallelism) {
  spec::Job job = test::make_job({.tp = 4, .micro_batches = 3});
  job.parallelism.sequence_parallel = false;
  // Per layer and micro batch two all-reduces of S forward and two backward.
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kAllReduce),
                   3 * 8 * 4 * kStream);
  EXPECT_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kAllGather), 0);
}

TEST(Bytes, SequenceParallelismGathersAgainInTheBackward) {
  spec::Job job = test::make_job({.tp = 4, .micro_batches = 3});
  // 2 gathers and 2 scatters forward; backward 4 gathers (two of them the inputs again) and 2
  // scatters.
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kAllGather),
                   3 * 8 * 6 * kStream);
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kReduceScatter),
                   3 * 8 * 4 * kStream);
  // Overlap moves them beside the GEMMs; it does not change what crosses.
  job.training.overlap_tp = true;
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kAllGather),
                   3 * 8 * 6 * kStream);
  // Full recomputation runs the forward's collectives once more.
  job.training.recompute = spec::Recompute::kFull;
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kAllGather),
                   3 * 8 * 8 * kStream);
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kTensor, CollectiveKind::kReduceScatter),
                   3 * 8 * 6 * kStream);
}

TEST(Bytes, NormGradientsAreSummedOnceAStep) {
  const spec::Job job = test::make_job({.tp = 4, .pp = 2, .micro_batches = 4});
  // Four layers with two norms of h weights a stage, FP32 gradients; the last stage has the final
  // norm too.
  EXPECT_DOUBLE_EQ(bytes_by_name(lowered(job), 0)["norm_grad_all_reduce"], 4 * 2 * 64 * 4);
  EXPECT_DOUBLE_EQ(bytes_by_name(lowered(job), 1)["norm_grad_all_reduce"], (4 * 2 + 1) * 64 * 4);
}

TEST(Bytes, ContextParallelRingMovesKeysAndValues) {
  spec::Job job = test::make_job({.cp = 4, .micro_batches = 2});
  // A step sends this rank's K and V block, 2 x 2 n g d bytes with n = 128 / 4: c-1 of them
  // forward. Backward K and V go round again, c-1 steps, and their gradients c-1 steps.
  const double block = 2 * 2 * 32 * 8 * 8;
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kContext, CollectiveKind::kSendRecv),
                   2 * 8 * 3 * 3 * block);
  job.parallelism.cp_comm = spec::CpComm::kAllGather;
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kContext, CollectiveKind::kAllGather),
                   2 * 8 * 2 * 4 * block);
  EXPECT_DOUBLE_EQ(
      layer_bytes(lowered(job), 0, GroupKind::kContext, CollectiveKind::kReduceScatter),
      2 * 8 * 4 * block);
  // Ulysses: q, k, v in and o out forward, the same reversed backward.
  job.parallelism.cp_comm = spec::CpComm::kAllToAll;
  const double heads = 2 * 32 * (8 + 2 * 8) * 8 + 2 * 32 * 8 * 8;
  EXPECT_DOUBLE_EQ(layer_bytes(lowered(job), 0, GroupKind::kContext, CollectiveKind::kAllToAll),
                   2 * 8 * 2 * heads);
}

TEST(Bytes, ExpertParallelismSendsEveryTokenToItsExperts) {
  // Dispatch and combine, forward and backward: four times 2 k n h bytes, k = 2; probabilities 4 k
  // n besides.
  const spec::Job job = test::make_job({.dp = 8, .ep = 4, .micro_batches = 2});
  const Plan plan = lowered(job);
  std::map<std::string, double> bytes = bytes_by_name(plan, 0);
  EXPECT_DOUBLE_EQ(bytes["ep_all_to_all_dispatch"] + bytes["ep_all_to_all_combine"],
                   2 * 8 * 4 * 2 * kStream);
  EXPECT_DOUBLE_EQ(bytes["ep_all_to_all_probs"], 2 * 8 * 2 * 4 * 2 * 128);
}

TEST(Bytes, PipelineStagesPassTheStreamOn) {
  // 2 n h / t bytes a transfer with sequence parallelism; interior stages send once each way a
  // micro batch.
  const spec::Job job = test::make_job({.tp = 2, .pp = 4, .micro_batches = 6});
  const Plan plan = lowered(job);
  for (size_t role = 0; role < 4; ++role) {
    std::map<std::string, double> bytes = bytes_by_name(plan, role);
    EXPECT_DOUBLE_EQ(bytes["send_forward"], role < 3 ? 6 * kStream / 2 : 0);
    EXPECT_DOUBLE_EQ(bytes["send_backward"], role > 0 ? 6 * kStream / 2 : 0);
  }
  // Interleaving: v times as often, over the wrap link too.
  const spec::Job interleaved = test::make_job({.tp = 2, .pp = 4, .vpp = 2, .micro_batches = 8});
  const Plan chunks = lowered(interleaved);
  EXPECT_DOUBLE_EQ(sum_of(chunks, 1, GroupKind::kPipeline, CollectiveKind::kSendRecv),
                   8 * (2 + 2) * kStream / 2);
  EXPECT_DOUBLE_EQ(bytes_by_name(chunks, 3)["send_forward"], 8 * kStream / 2);
  EXPECT_DOUBLE_EQ(bytes_by_name(chunks, 0)["send_backward"], 8 * kStream / 2);
}

double dense(const Plan& plan, const workload::Workload& workload, size_t role) {
  return stage_parameters(workload, plan.stages[role]).dense;
}

TEST(Bytes, DataParallelismByZeroStage) {
  spec::Job job = test::make_job({.tp = 2, .dp = 8, .micro_batches = 4});
  const workload::Workload workload = workload::lower(job);
  for (const bool overlap : {false, true}) {
    job.training.overlap_grad_reduce = job.training.overlap_param_gather = overlap;
    job.training.bucket_elements = overlap ? 20000 : 0;
    const auto bytes = [&](int zero, CollectiveKind kind, GroupKind group = GroupKind::kData) {
      job.parallelism.zero_stage = zero;
      job.parallelism.fsdp = zero == 3;
      return sum_of(make_plan(job, workload), 0, group, kind);
    };
    const double parameters = dense(make_plan(job, workload), workload, 0);
    EXPECT_GT(parameters, 8 * 12 * 64 * 64 / 2);
    // ZeRO 0: all gradients (FP32) reduced once. 1: scattered once, and the parameters (2 bytes)
    // gathered. 2: scattered in every one of the four micro batches.
    EXPECT_DOUBLE_EQ(bytes(0, CollectiveKind::kAllReduce), 4 * parameters);
    EXPECT_EQ(bytes(0, CollectiveKind::kReduceScatter) + bytes(0, CollectiveKind::kAllGather), 0);
    EXPECT_EQ(bytes(1, CollectiveKind::kAllReduce), 0);
    EXPECT_DOUBLE_EQ(bytes(1, CollectiveKind::kReduceScatter), 4 * parameters);
    EXPECT_DOUBLE_EQ(bytes(1, CollectiveKind::kAllGather), 2 * parameters);
    EXPECT_EQ(bytes(2, CollectiveKind::kReduceScatter), 0);
    EXPECT_DOUBLE_EQ(bytes(2, CollectiveKind::kReduceScatter, GroupKind::kShard),
                     4 * 4 * parameters);
    EXPECT_DOUBLE_EQ(bytes(2, CollectiveKind::kAllGather), 2 * parameters);
    // ZeRO 3: both, in every one of the four micro batches, and the gather twice.
    EXPECT_DOUBLE_EQ(bytes(3, CollectiveKind::kReduceScatter, GroupKind::kShard),
                     4 * 4 * parameters);
    EXPECT_DOUBLE_EQ(bytes(3, CollectiveKind::kAllGather, GroupKind::kShard),
                     4 * 2 * 2 * parameters);
  }
  // 16-bit gradients take half. So do parameters of linear layers in FP8, 4 * 64^2 + 3 * 64 * 256
  // of each of the stage's four: embedding, head and norms stay in 16 bit.
  constexpr double kLinear = 4 * (4 * 64 * 64 + 3 * 64 * 256.0);
  job.parallelism.zero_stage = 1;
  job.parallelism.fsdp = false;
  job.training.gradients_fp32 = false;
  job.training.precision = spec::Precision::kFp8;
  job.training.fp8_parameters = true;
  const workload::Workload narrow = workload::lower(job);
  const Plan small = make_plan(job, narrow);
  EXPECT_DOUBLE_EQ(sum_of(small, 0, GroupKind::kData, CollectiveKind::kReduceScatter),
                   2 * dense(small, narrow, 0));
  EXPECT_DOUBLE_EQ(sum_of(small, 0, GroupKind::kData, CollectiveKind::kAllGather),
                   2 * dense(small, narrow, 0) - kLinear);
  job.training.overlap_param_gather = true;  // in buckets as well
  const Plan overlapped = make_plan(job, narrow);
  EXPECT_DOUBLE_EQ(sum_of(overlapped, 0, GroupKind::kData, CollectiveKind::kAllGather),
                   2 * dense(overlapped, narrow, 0) - kLinear);
  // Fully sharded they are gathered twice in each of four micro batches, and so is the rest.
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  const Plan sharded = make_plan(job, narrow);
  EXPECT_DOUBLE_EQ(sum_of(sharded, 0, GroupKind::kShard, CollectiveKind::kAllGather),
                   4 * 2 * (2 * dense(sharded, narrow, 0) - kLinear));
  job.parallelism.zero_stage = 1;
  job.parallelism.fsdp = false;
  // With a scale a block they are gathered in 16 bit.
  job.training.fp8_recipe = spec::Fp8Recipe::kMxfp8;
  const Plan blocks = make_plan(job, narrow);
  EXPECT_DOUBLE_EQ(sum_of(blocks, 0, GroupKind::kData, CollectiveKind::kAllGather),
                   2 * dense(blocks, narrow, 0));
}

TEST(Bytes, HybridShardingSumsShardsOverReplicas) {
  spec::Job job = test::make_job({.dp = 8, .micro_batches = 4});
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  job.parallelism.fsdp_shard_size = 2;
  const workload::Workload workload = workload::lower(job);
  const Plan plan = make_plan(job, workload);
  const double parameters = dense(plan, workload, 0);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kShard, CollectiveKind::kReduceScatter),
                   4 * 4 * parameters);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kReplica, CollectiveKind::kAllReduce),
                   4 * parameters / 2);
  job.training.framework = spec::Framework::kTorchFsdp;
  EXPECT_DOUBLE_EQ(sum_of(make_plan(job, workload::lower(job)), 0, GroupKind::kReplica,
                          CollectiveKind::kAllReduce),
                   4 * 4 * parameters / 2);
}

// PyTorch's no_sync: of four micro batches only the last one's gradients travel, and all are whole
// until then, as wide as they are reduced.
TEST(Bytes, OnlyTheLastMicroBatchMayReduce) {
  spec::Job job = test::make_job({.dp = 8, .micro_batches = 4});
  job.training.framework = spec::Framework::kTorchFsdp;
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  job.training.reduce_every_micro_batch = false;
  const workload::Workload workload = workload::lower(job);
  const Plan plan = make_plan(job, workload);
  const double parameters = dense(plan, workload, 0);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kShard, CollectiveKind::kReduceScatter),
                   4 * parameters);
  EXPECT_DOUBLE_EQ(state_memory(job, workload, plan.stages[0]).gradients, 4 * parameters);
  job.training.gradients_fp32 = false;
  EXPECT_DOUBLE_EQ(state_memory(job, workload, plan.stages[0]).gradients, 2 * parameters);
  job.training.global_batch = 8;  // one micro batch: it is the last
  EXPECT_DOUBLE_EQ(sum_of(make_plan(job, workload::lower(job)), 0, GroupKind::kShard,
                          CollectiveKind::kReduceScatter),
                   2 * parameters);
  EXPECT_FALSE(adds_whole_gradients(job));
}

// Copies of two ranks: each sums the gradients of its half of the experts, then the halves are
// summed over the four copies.
TEST(Bytes, HybridShardingSumsShardsOfExpertsToo) {
  spec::Job job = test::make_job({.dp = 8, .ep = 1, .micro_batches = 4});
  job.model.experts = {.count = 8, .top_k = 2, .ffn = 128};
  for (spec::Layer& layer : job.model.layers) layer.moe = true;
  job.parallelism.zero_stage = 3;
  job.parallelism.fsdp = true;
  job.parallelism.fsdp_shard_size = 2;
  const workload::Workload workload = workload::lower(job);
  const Plan plan = make_plan(job, workload);
  const workload::ParameterShare share = stage_parameters(workload, plan.stages[0]);
  ASSERT_GT(share.expert, 0);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kExpertData, CollectiveKind::kReduceScatter),
                   4 * 4 * share.expert);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kReplica, CollectiveKind::kAllReduce),
                   4 * (share.dense + share.expert) / 2);
}

TEST(Bytes, LoraMovesAdaptersOnly) {
  spec::Job job = test::make_job({.dp = 4, .micro_batches = 2});
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 4;
  const workload::Workload workload = workload::lower(job);
  const Plan plan = make_plan(job, workload);
  const workload::ParameterShare share = stage_parameters(workload, plan.stages[0]);
  EXPECT_GT(share.trainable_dense, 0);
  EXPECT_LT(share.trainable_dense, share.dense / 2);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kData, CollectiveKind::kReduceScatter),
                   4 * share.trainable_dense);
  EXPECT_DOUBLE_EQ(sum_of(plan, 0, GroupKind::kData, CollectiveKind::kAllGather),
                   2 * share.trainable_dense);
}

// Everything at once: TP2 CP2 PP2 VPP2 DP4 EP2 on a MoE model. Each part keeps its own closed form.
TEST(Bytes, CombinedParallelismsKeepTheirForms) {
  spec::Job job =
      test::make_job({.tp = 2, .cp = 2, .pp = 2, .vpp = 2, .dp = 4, .ep = 2, .micro_batches = 4});
  job.training.overlap_grad_reduce = job.training.overlap_param_gather = job.training.overlap_p2p =
      true;
  job.training.bucket_elements = 5000;
  const workload::Workload workload = workload::lower(job);
  const Plan plan = make_plan(job, workload);
  const double stream = kStream / 2;  // half of the tokens on a context-parallel rank
  for (size_t role = 0; role < 2; ++role) {
    const workload::ParameterShare share = stage_parameters(workload, plan.stages[role]);
    std::map<std::string, double> bytes = bytes_by_name(plan, role);
    // Attention's half of the dense layer's tensor-parallel traffic, on four layers and four micro
    // batches.
    EXPECT_DOUBLE_EQ(layer_bytes(plan, role, GroupKind::kTensor, CollectiveKind::kAllGather),
                     4 * 4 * 3 * stream);
    EXPECT_DOUBLE_EQ(layer_bytes(plan, role, GroupKind::kTensor, CollectiveKind::kReduceScatter),
                     4 * 4 * 2 * stream);
    // Experts: 2 k (n / t) h four times.
    EXPECT_DOUBLE_EQ(bytes["ep_all_to_all_dispatch"] + bytes["ep_all_to_all_combine"],
                     4 * 4 * 4 * 2 * stream / 2);
    // Dense weights over dp x cp, experts over their own replicas.
    EXPECT_DOUBLE_EQ(bytes["grad_reduce_scatter"], 4 * share.trainable_dense);
    EXPECT_DOUBLE_EQ(bytes["param_all_gather"], 2 * share.trainable_dense);
    EXPECT_DOUBLE_EQ(bytes["expert_grad_reduce_scatter"], 4 * share.trainable_expert);
    EXPECT_DOUBLE_EQ(bytes["expert_param_all_gather"], 2 * share.trainable_expert);
    // Three boundaries between four virtual stages.
    EXPECT_DOUBLE_EQ(bytes["send_forward"], (role == 0 ? 2 : 1) * 4 * stream / 2);
    EXPECT_DOUBLE_EQ(bytes["send_backward"], (role == 0 ? 1 : 2) * 4 * stream / 2);
    EXPECT_DOUBLE_EQ(bytes["grad_norm_all_reduce"], 4);
  }
}

}  // namespace
}  // namespace ergometer::plan
