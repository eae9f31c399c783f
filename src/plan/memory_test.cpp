#include "plan/memory.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/memory_states.h"
#include "plan/test_job.h"
#include "spec/job/nanotron_stages.h"
#include "workload/flops.h"

// The model of `plan/test_job.h`: h = 64, 8 heads of 8, f = 256, vocabulary 1024, eight layers. A
// layer has 4 * 64^2 + 3 * 64 * 256 + 2 * 64 = 65,664 parameters, embedding and head 65,536 each,
// the last norm 64.

namespace ergometer::plan {
namespace {

constexpr double kLayer = 65'664, kTable = 65'536, kNorm = 64;
constexpr double kModel = 8 * kLayer + 2 * kTable + kNorm;
/// Linear layers' weights: attention's four matrices and the MLP's three.
constexpr double kLinear = 8 * (4 * 64 * 64 + 3 * 64 * 256.0);

spec::Job job_with(const test::Shape& shape) {
  spec::Job job = test::make_job(shape);
  job.cluster.node.gpu.memory_bytes = 80e9;
  return job;
}

/// Of adapters of rank 4.
spec::Job lora_job(const test::Shape& shape, std::vector<std::string> targets) {
  spec::Job job = job_with(shape);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 4;
  job.training.lora_targets = std::move(targets);
  return job;
}

/// Four sequences a replica, of 128 + 72 tokens.
spec::Job decode_job() {
  spec::Job job = job_with({.tp = 2, .dp = 2, .micro_batches = 4});
  job.parallelism.zero_stage = 0;
  job.training.mode = spec::Mode::kDecode;
  job.training.generate_tokens = 72;
  return job;
}

spec::Job torch_fsdp_job() {
  spec::Job job = job_with({.dp = 4});
  job.parallelism.fsdp = true;
  job.parallelism.zero_stage = 3;
  job.training.framework = spec::Framework::kTorchFsdp;
  job.training.grad_accumulation_fusion = false;
  return job;
}

double part(const StageMemory& stage, const std::string& name) {
  for (const auto& [key, bytes] : stage.parts)
    if (key == name) return bytes;
  return 0;
}

void expect_parts_add_up(const StageMemory& stage) {
  double sum = 0;
  for (const auto& [name, bytes] : stage.parts) sum += bytes;
  EXPECT_NEAR(sum, stage.total(), 1e-6 * stage.total());
}

TEST(Memory, StatesOfEveryZeroStage) {
  const auto states = [&](int zero, bool fp32) {
    spec::Job job = job_with({.dp = 4});
    job.parallelism.zero_stage = zero;
    job.training.gradients_fp32 = fp32;
    const StageMemory stage = test::memory_of(job).worst();
    expect_parts_add_up(stage);
    return std::vector<double>{stage.weights / kModel, stage.gradients / kModel,
                               stage.optimizer / kModel};
  };
  EXPECT_EQ(states(0, true), (std::vector<double>{2, 4, 12}));
  EXPECT_EQ(states(1, true), (std::vector<double>{2, 4, 3}));
  EXPECT_EQ(states(1, false), (std::vector<double>{2, 2, 3}));
  EXPECT_EQ(states(2, true), (std::vector<double>{2, 1, 3}));
  EXPECT_EQ(states(3, true), (std::vector<double>{0.5, 1, 3}));
}

TEST(Memory, ShardedGradientsAreWholeWhileTheirLayerRuns) {
  spec::Job job = job_with({.dp = 4});
  job.parallelism.zero_stage = 2;
  EXPECT_EQ(part(test::memory_of(job).worst(), "unsharded_layers"), 4 * kLayer);
  job.parallelism.zero_stage = 1;
  EXPECT_EQ(part(test::memory_of(job).worst(), "unsharded_layers"), 0);
}

TEST(Memory, PytorchFsdpShardsFp32ParametersAndGathersLayers) {
  spec::Job job = torch_fsdp_job();
  job.training.global_batch = 8;  // two micro batches: gradients add up
  const StageMemory stage = test::memory_of(job).worst();
  EXPECT_EQ(stage.weights, kModel);  // 4 / 4
  EXPECT_EQ(stage.gradients, kModel);
  EXPECT_EQ(stage.optimizer, 2 * kModel);
  // Two layers ahead and what is outside the layers in 16 bit, and one layer's gradients.
  EXPECT_EQ(part(stage, "unsharded_layers"), 2 * (2 * kLayer + 2 * kTable + kNorm) + 2 * kLayer);
  EXPECT_EQ(part(stage, "dummy_gradients"), 0);
}

// Linear layers' weights are gathered in one byte where FP8 GEMMs take any layout; where they take
// one only, in two orientations. With a scale a block they are gathered in 16 bit.
TEST(Memory, LayersAreGatheredInFp8) {
  spec::Job job = torch_fsdp_job();
  job.training.global_batch = 8;
  const auto gathered = [&] { return part(test::memory_of(job).worst(), "unsharded_layers"); };
  const double wide = gathered();
  job.training.precision = spec::Precision::kFp8;
  job.training.fp8_parameters = true;
  EXPECT_EQ(gathered(), wide);
  job.cluster.node.gpu.parameters.set("gemm.fp8_any_layout", {1, "", "", {}});
  EXPECT_EQ(wide - gathered(), 2 * kLinear / 8);  // of two of eight layers
  job.training.fp8_recipe = spec::Fp8Recipe::kMxfp8;
  EXPECT_EQ(gathered(), wide);
}

// With one micro batch no gradient is there when backward begins: either the loss is the peak,
// without any, or the end of backward, with all of them and no activation.
// Of a parameter: FP32 shards and two moments in FSDP, else 16 bit and a master beside the moments.
TEST(Memory, BytesOfAParameterAreThoseOfTheScheme) {
  const StateBytes sharded = state_bytes(torch_fsdp_job());
  EXPECT_EQ(sharded.weight, 4);
  EXPECT_EQ(sharded.optimizer, 8);
  EXPECT_TRUE(sharded.shards_are_masters);
  spec::Job job = job_with({.dp = 8});
  EXPECT_EQ(state_bytes(job).weight, 2);
  EXPECT_EQ(state_bytes(job).gradient, 4);
  EXPECT_EQ(state_bytes(job).optimizer, 12);
  EXPECT_EQ(state_bytes(job).buckets, 0);
  job.training.optimizer_offload = true;
  EXPECT_EQ(state_bytes(job).optimizer, 0);
}

TEST(Memory, PytorchGradientsAppearInBackward) {
  spec::Job job = torch_fsdp_job();
  job.training.micro_batch = 1;
  job.training.global_batch = 4;
  job.training.seq_length = 8;
  const StageMemory short_step = test::memory_of(job).worst();
  EXPECT_EQ(short_step.gradients, kModel);  // 4 / 4
  EXPECT_NEAR(short_step.activations, 0, 1e-6);
  expect_parts_add_up(short_step);
  job.training.seq_length = 65'536;
  const MemoryReport report = test::memory_of(job);
  EXPECT_EQ(report.worst().gradients, 0);
  EXPECT_GT(report.worst().activations, kModel);
  expect_parts_add_up(report.worst());
  // Between steps they are there.
  EXPECT_EQ(report.allocated_after_step,
            report.worst().weights + kModel + report.worst().optimizer +
                part(report.worst(), "unsharded_layers") + part(report.worst(), "workspace"));
  // From the second micro batch on they are there at the loss as well.
  const double one_micro_batch = report.worst().total();
  job.training.global_batch = 8;
  const StageMemory summed = test::memory_of(job).worst();
  EXPECT_EQ(summed.total(), one_micro_batch + kModel);
  // The allocator has kept their memory since the step before.
  EXPECT_NEAR(report.worst().reserved, summed.reserved + kModel, 1e-6 * kModel);
}

TEST(Memory, AnOptimizerOnTheHostLeavesSixteenBitShards) {
  spec::Job job = job_with({.dp = 4});
  job.training.optimizer_offload = true;
  StageMemory stage = test::memory_of(job).worst();
  EXPECT_DOUBLE_EQ(stage.weights, 2 * kModel);
  EXPECT_EQ(stage.optimizer, 0);
  EXPECT_GT(stage.gradients, 0);
  job.parallelism.fsdp = true;
  job.training.framework = spec::Framework::kTorchFsdp;
  stage = test::memory_of(job).worst();
  EXPECT_DOUBLE_EQ(stage.weights, 2 * kModel / 4);
  EXPECT_EQ(stage.gradients, 0);
}

TEST(Memory, ExpertsShardOverTheirOwnReplicas) {
  // 8 experts of 3 * 64 * 128 over EP 4: 2 a rank, replicated on 8 / 4 = 2 ranks.
  const MemoryReport report = test::memory_of(job_with({.dp = 8, .ep = 4}));
  const double expert = 8 * 2 * 3 * 64 * 128.0;
  const double dense = 8 * (4 * 64 * 64 + 64 * 8 + 2 * 64) + 2 * kTable + kNorm;
  EXPECT_EQ(report.worst().weights, 2 * (expert + dense));
  EXPECT_EQ(report.worst().optimizer, 12 * (expert / 2 + dense / 8));
}

// A layer keeps per token 8h + 2 * 3h + 2h + 4 * 8 + 6f = 16 * 64 + 32 + 6 * 256 = 2592 bytes; 128
// tokens.
constexpr double kKept = 128 * 2592;

TEST(Memory, EarlierStagesHoldMoreMicroBatches) {
  const MemoryReport report = test::memory_of(job_with({.pp = 4, .micro_batches = 8}));
  ASSERT_EQ(report.stages.size(), 4u);
  // Stage r holds 4 - r micro batches of two layers, and while one of them runs backward its
  // transient: the incoming gradient 2h and the gradients around the activation, 4f a token.
  const double transient = 128 * (2 * 64 + 4 * 256.0);
  EXPECT_EQ(report.stages[1].activations, 3 * 2 * kKept + transient);
  EXPECT_EQ(report.stages[2].activations, 2 * 2 * kKept + transient);
  // The last: one micro batch, the head's two inputs of 2h; logits and their gradient count as the
  // loss.
  EXPECT_EQ(report.stages[3].activations, 2 * kKept + 128 * 4 * 64);
  EXPECT_EQ(part(report.stages[3], "loss"), 4.0 * 128 * 1024);
  for (const StageMemory& stage : report.stages) expect_parts_add_up(stage);
}

TEST(Memory, GpipeHoldsEveryMicroBatchAndItsLogits) {
  spec::Job job = job_with({.pp = 2, .micro_batches = 6});
  job.parallelism.schedule = spec::Schedule::kGpipe;
  const MemoryReport report = test::memory_of(job);
  EXPECT_EQ(report.stages[1].activations, 6 * (4 * kKept + 128 * 4 * 64));
  EXPECT_EQ(part(report.stages[1], "loss"),
            (6 * 2 + 2) * 128 * 1024.0);  // 16-bit logits each, one gradient
}

// Of 2p = 4 chunks of one layer each, on stage 1 the two in the middle of the model; V-Min as many
// with two stages, V-Half too. Stage 0 has the embedding and the head.
TEST(Memory, AVKeepsAsManyChunksOnEveryStage) {
  spec::Job job = job_with({.pp = 2, .vpp = 2, .micro_batches = 8, .layers = 4});
  const double transient = 128 * (2 * 64 + 4 * 256.0);
  for (const auto schedule :
       {spec::Schedule::kZbV, spec::Schedule::kVHalf, spec::Schedule::kVMin}) {
    job.parallelism.schedule = schedule;
    const MemoryReport report = test::memory_of(job);
    EXPECT_EQ(report.stages[1].activations, 4 * kKept + transient);
    EXPECT_GT(part(report.stages[0], "loss"), 0);
    EXPECT_EQ(part(report.stages[1], "loss"), 0);
    for (const StageMemory& stage : report.stages) expect_parts_add_up(stage);
  }
}

TEST(Memory, FullRecomputationKeepsInputsAndRebuildsOneLayer) {
  spec::Job job = job_with({.pp = 4, .micro_batches = 8});
  job.training.recompute = spec::Recompute::kFull;
  const MemoryReport one = test::memory_of(job);
  const double checkpoint = 128 * 2 * 64, transient = 128 * (2 * 64 + 4 * 256.0);
  // Stage 1: three micro batches of two inputs; in backward the last layer is rebuilt, its input
  // among it.
  EXPECT_EQ(one.stages[1].activations, 3 * 2 * checkpoint + (kKept - checkpoint) + transient);
  EXPECT_EQ(part(one.stages[1], "checkpoints"), 3 * 2 * checkpoint);
  // One checkpoint for both layers: fewer inputs, but both are rebuilt at once.
  job.training.recompute_layers = 2;
  EXPECT_EQ(test::memory_of(job).stages[1].activations,
            3 * checkpoint + (2 * kKept - checkpoint) + transient);
  // Block: the first layer is recomputed, the second kept.
  job.training.recompute_method = spec::RecomputeMethod::kBlock;
  job.training.recompute_layers = 1;
  EXPECT_EQ(test::memory_of(job).stages[1].activations, 3 * (checkpoint + kKept) + transient);
}

// Logits: 128 tokens x 1024. The FP32 softmax and, beside it, the 16-bit logits with their FP32
// copy; where the copy becomes the softmax, the 16-bit logits alone.
TEST(Memory, UnfusedLossAndWorkspaceOfTheSoftware) {
  spec::Job job = job_with({});
  job.training.fused_cross_entropy = false;
  const double logits = 128 * 1024.0;
  const double copied = part(test::memory_of(job).worst(), "loss");
  EXPECT_EQ(copied, (4 + 2 + 4) * logits);
  job.software.parameters.set("memory.loss_copies", {2, "", "", base::Grade::kAssumed});
  job.software.parameters.set("memory.workspace", {1e8, "", "", base::Grade::kAssumed});
  const StageMemory stage = test::memory_of(job).worst();
  EXPECT_EQ(part(stage, "loss"), (4 + 2) * logits);
  EXPECT_EQ(part(stage, "workspace"), 1e8);
}

TEST(Memory, BuffersOfTheEngineAndOfOverlap) {
  spec::Job job = job_with({.tp = 2});
  const StageMemory plain = test::memory_of(job).worst();
  // Distinct matrices: QKV 64 x 96, proj 32 x 64, FC1 64 x 256, FC2 128 x 64, head 64 x 512, 2
  // bytes each.
  EXPECT_EQ(part(plain, "dummy_gradients"), 2.0 * 64 * (96 + 32 + 256 + 128 + 512));
  EXPECT_EQ(part(plain, "workspace"), 0.5 * kGib);
  EXPECT_EQ(part(plain, "tensor_parallel_buffers"), 0);
  job.training.overlap_tp = true;
  EXPECT_EQ(part(test::memory_of(job).worst(), "tensor_parallel_buffers"), 3 * 2.0 * 128 * 64);
  job.software.parameters.set("memory.workspace", {3 * kGib, "B", {}, base::Grade::kAssumed});
  EXPECT_EQ(part(test::memory_of(job).worst(), "workspace"), 3 * kGib);
}

TEST(Memory, Fp8KeepsCopiesBesideOrInsteadOfWeights) {
  spec::Job job = job_with({});
  job.training.precision = spec::Precision::kFp8;
  EXPECT_EQ(test::memory_of(job).worst().weights,
            2 * kModel + 2 * kLinear);  // both orientations
  job.training.fp8_parameters = true;
  EXPECT_EQ(test::memory_of(job).worst().weights, 2 * kModel);
  job.cluster.node.gpu.parameters.set("gemm.fp8_any_layout", {1, "", "", {}});
  EXPECT_EQ(test::memory_of(job).worst().weights, 2 * kModel - kLinear);
}

TEST(Memory, LoraTrainsOnlyAdapters) {
  spec::Job job = lora_job({}, {"proj"});
  const StageMemory stage = test::memory_of(job).worst();
  const double adapters = 8 * 4 * (64 + 64.0);
  EXPECT_EQ(stage.weights, 2 * (kModel + adapters));
  EXPECT_EQ(stage.gradients + stage.optimizer, 16 * adapters);
}

/// The embedding keeps token numbers of eight bytes.
constexpr double kTokenIds = 128 * 8;

// Frozen layers keep no input. Per token: two norms' inputs of 2h, q, k, v 6h, the attention output
// 2h, which the adapter reads too, 4 * 8 log-sum-exp, gate and up 4f, the adapter's rank of 4 in 16
// bit: 12h + 32 + 4f + 8 = 1832 bytes.
TEST(Memory, LoraKeepsWhatAdaptersAndNonlinearitiesRead) {
  spec::Job job = lora_job({}, {"proj"});
  // The head keeps its norm's input alone.
  EXPECT_EQ(test::memory_of(job).worst().activations, kTokenIds + 128 * (8 * 1832 + 2 * 64));
  // In FP8 nothing changes: nothing that is kept is multiplied in FP8. With attention in FP8 its
  // four tensors are, and the adapter's input is one of its own: 4 * 64 + 2 * 64 instead of 8 * 64.
  job.training.precision = spec::Precision::kFp8;
  EXPECT_EQ(test::memory_of(job).worst().activations, kTokenIds + 128 * (8 * 1832 + 2 * 64));
  job.training.fp8_attention = true;
  EXPECT_EQ(test::memory_of(job).worst().activations,
            kTokenIds + 128 * (8 * (1832 - 2 * 64) + 2 * 64));
}

TEST(Memory, LoraAdaptersReadTheGatheredStream) {
  spec::Job job = lora_job({.tp = 2}, {"qkv", "fc2"});
  // Half of 4h of norms, 8h of attention, 32 of log-sum-exp and 4f + 2f of the MLP; all of QKV's
  // 2h and of both adapters' 8.
  const double layer = (12 * 64 + 32 + 6 * 256) / 2.0 + 2 * 64 + 2 * 8;
  EXPECT_EQ(test::memory_of(job).worst().activations, kTokenIds + 128 * (8 * layer + 64));
}

TEST(Memory, FrozenFp8WeightsAreKeptOnce) {
  spec::Job job = lora_job({}, {"proj"});
  job.training.precision = spec::Precision::kFp8;
  job.training.fp8_parameters = true;
  EXPECT_EQ(test::memory_of(job).worst().weights, 2 * kModel - kLinear + 2 * 8 * 4 * (64 + 64.0));
}

// Four matrices of 64 x 64 and three of 64 x 256 a layer in 0.5625 bytes an element instead of two,
// all else as before; the largest of them, gate and up, is unpacked beside them. Every linear layer
// keeps its input: beside what LoRA keeps, QKV's 2h, FC1's 2h and FC2's 2f.
TEST(Memory, FrozenWeightsWaitInFourBits) {
  spec::Job job = lora_job({}, {"proj"});
  const StageMemory wide = test::memory_of(job).worst();
  job.training.quantize = spec::FrozenWeights::kNf4;
  const StageMemory narrow = test::memory_of(job).worst();
  EXPECT_EQ(wide.weights - narrow.weights, kLinear * (2 - 0.5625));
  EXPECT_EQ(part(narrow, "unsharded_layers") - part(wide, "unsharded_layers"), 2 * 64 * 512);
  EXPECT_EQ(narrow.activations - wide.activations, 128 * 8 * (2 * 64 + 2 * 64 + 2 * 256.0));
  job.training.quantize = spec::FrozenWeights::kInt8;
  EXPECT_EQ(wide.weights - test::memory_of(job).worst().weights, kLinear * (2 - 1));
  job.training.quantize = spec::FrozenWeights::kNf4Double;
  EXPECT_EQ(wide.weights - test::memory_of(job).worst().weights,
            kLinear * (2 - 0.5 - 1 / 64.0 - 4 / 16384.0));
}

// Of 12 bytes a parameter two less for the halves of masters, two less for each moment in 16 bit.
TEST(Memory, OptimizerKeepsWhatParametersLack) {
  spec::Job job = job_with({});
  const double whole = test::memory_of(job).worst().optimizer;
  job.training.master_remainders = true;
  EXPECT_EQ(test::memory_of(job).worst().optimizer, whole * 10 / 12);
  job.training.moments = spec::Moments::kBf16;
  EXPECT_EQ(test::memory_of(job).worst().optimizer, whole * 6 / 12);
  job.training.moments = spec::Moments::kFp8;
  EXPECT_EQ(test::memory_of(job).worst().optimizer, whole * 4 / 12);
}

// Frozen parameters are sharded and gathered as they are; the adapters' shards are in FP32.
TEST(Memory, PytorchFsdpShardsFrozenWeightsAsTheyAre) {
  spec::Job job = torch_fsdp_job();
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 4;
  job.training.lora_targets = {"proj"};
  const double adapters = 8 * 4 * (64 + 64.0);
  EXPECT_EQ(test::memory_of(job).worst().weights, (2 * kModel + 4 * adapters) / 4);
  job.training.quantize = spec::FrozenWeights::kNf4;
  EXPECT_EQ(test::memory_of(job).worst().weights,
            (2 * kModel - (2 - 0.5625) * kLinear + 4 * adapters) / 4);
}

// 2 of the parameter, 2 of its gradient, and two moments of 2, or of 1 and a scale for every 256.
TEST(Memory, WithoutMasterWeightsAllIsInSixteenBits) {
  spec::Job job = torch_fsdp_job();
  job.training.global_batch = 8;
  job.training.master_weights = job.training.gradients_fp32 = false;
  job.training.moments = spec::Moments::kBf16;
  const StageMemory stage = test::memory_of(job).worst();
  EXPECT_EQ(stage.weights, 2 * kModel / 4);
  EXPECT_EQ(stage.gradients, 2 * kModel / 4);
  EXPECT_EQ(stage.optimizer, 4 * kModel / 4);
  job.training.moments = spec::Moments::k8Bit;
  EXPECT_EQ(test::memory_of(job).worst().optimizer, 2 * (1 + 4 / 256.0) * kModel / 4);
  job.training.master_weights = true;  // its shards are the master
  EXPECT_EQ(test::memory_of(job).worst().weights, kModel);
  job.parallelism.fsdp = false;  // beside the parameter, divided over four replicas
  job.training.framework = spec::Framework::kMegatron;
  EXPECT_EQ(test::memory_of(job).worst().optimizer, (4 + 2 * (1 + 4 / 256.0)) * kModel / 4);
}

// Three of eight layers wait on the host when the loss, the fullest moment, runs.
TEST(Memory, OffloadedLayersAreNotThereAtThePeak) {
  spec::Job job = job_with({});
  job.training.offloaded_layers = 3;
  const StageMemory stage = test::memory_of(job).worst();
  EXPECT_EQ(stage.activations, kTokenIds + 5 * kKept + 128 * 4 * 64);
  expect_parts_add_up(stage);
  // With a small head the fullest moment is a layer's backward: the layer itself, whether it was
  // there or is back, and its transient; what ran behind it is gone.
  job.training.offloaded_layers = 7;
  job.model.vocab = 128;
  EXPECT_EQ(test::memory_of(job).worst().activations,
            kTokenIds + kKept + 128 * (2 * 64 + 4 * 256.0));
}

TEST(Memory, InferenceHoldsTheCacheOfItsSequences) {
  spec::Job job = decode_job();
  const StageMemory stage = test::memory_of(job).worst();
  // Four sequences a replica, 8 layers, 128 + 72 tokens, keys and values of 4 heads of 8, 2 bytes.
  EXPECT_EQ(part(stage, "kv_cache"), 4 * 8 * 200.0 * 2 * 4 * 8 * 2);
  EXPECT_EQ(stage.gradients + stage.optimizer, 0);
}

// A window looks back at 50 of the 200 tokens; a layer without attention keeps none of them.
TEST(Memory, EachLayerCachesWhatItLooksBackAt) {
  spec::Job job = decode_job();
  job.model.layers[0].window = 50;
  job.model.layers[1].mixer = spec::Mixer::kNone;
  EXPECT_EQ(part(test::memory_of(job).worst(), "kv_cache"), 4 * (6 * 200.0 + 50) * 2 * 4 * 8 * 2);
}

// Latent attention's cache is what is expanded, whole on either rank: 512 + 64 a token and layer.
TEST(Memory, LatentAttentionCachesWhatIsCompressed) {
  spec::Job job = decode_job();
  job.model.attention = spec::AttentionKind::kLatent;
  job.model.latent = {0, 512, 8, 64, 8};
  EXPECT_EQ(part(test::memory_of(job).worst(), "kv_cache"), 4 * 8 * 200.0 * (512 + 64) * 2);
}

// Weights that multiply in FP8 are there once, one direction, and no longer in 16 bit.
TEST(Memory, InferenceInFp8HoldsNothingElse) {
  spec::Job job = job_with({});
  job.parallelism.zero_stage = 0;
  job.training.mode = spec::Mode::kDecode;
  const StageMemory wide = test::memory_of(job).worst();
  job.training.precision = spec::Precision::kFp8;
  const StageMemory narrow = test::memory_of(job).worst();
  const double elements = part(narrow, "fp8_weights");
  EXPECT_GT(elements, 0);
  EXPECT_EQ(wide.weights - narrow.weights, elements);
}

TEST(Memory, OptimizerStepCountsWhenItNeedsMoreThanActivations) {
  spec::Job job = job_with({});
  job.training.gradients_fp32 = false;
  job.training.seq_length =
      2;  // activations of two tokens are less than an FP32 copy of the gradients
  const StageMemory stage = test::memory_of(job).worst();
  EXPECT_EQ(part(stage, "fp32_gradients"), 4 * kModel);
  EXPECT_EQ(stage.activations, 0);
}

TEST(Memory, NanotronsScheme) {
  spec::Job job = job_with({.dp = 4});
  job.training.framework = spec::Framework::kNanotron;
  EXPECT_NEAR(test::memory_of(job).allocated_after_step, (10 + 14.0 / 4) * kModel + 0.07 * kGib, 1);
  job.parallelism.zero_stage = 0;
  EXPECT_NEAR(test::memory_of(job).allocated_after_step, 20 * kModel + 0.07 * kGib, 1);
}

// The flat tensors of the all-gather, 2 and 2 / 4 bytes a parameter, are gone when activations are
// most: they count where these are less.
TEST(Memory, NanotronsGatherIsGoneWhenActivationsAreMost) {
  spec::Job job = job_with({.dp = 4});
  job.training.framework = spec::Framework::kNanotron;
  EXPECT_EQ(part(test::memory_of(job).worst(), "gathered_parameters"), 0);
  job.training.seq_length = 2;
  EXPECT_EQ(part(test::memory_of(job).worst(), "gathered_parameters"), 2.5 * kModel);
}

// SiLU's output, 2f a token, is kept beside gate, up and their product.
TEST(Memory, AnUnfusedGatedActivationKeepsOneTensorMore) {
  spec::Job job = job_with({});
  const double fused = test::memory_of(job).worst().activations;
  job.software.parameters.set("memory.gate_copies", {1, "", "", base::Grade::kAssumed});
  EXPECT_EQ(test::memory_of(job).worst().activations - fused, 8 * 128 * 2 * 256.0);
  job.model.gated = false;
  EXPECT_EQ(part(test::memory_of(job).worst(), "gate_output"), 0);
}

TEST(NanotronStages, HeadCountsAsTheLayersItCosts) {
  // 16 layers of 4 * 2048^2 + 3 * 2048 * 8192 = 67,108,864 and a head of 2048 * 131072, four
  // layers' worth: 20 in all. Two stages of 10 are even: the first ends at 10 layers, before the
  // fix it took one more.
  spec::Job job = job_with({.pp = 2, .layers = 16});
  job.model.hidden = 2048;
  job.model.ffn = 8192;
  job.model.heads = job.model.kv_heads = 32;
  job.model.head_dim = 64;
  job.model.vocab = 131072;
  EXPECT_EQ(spec::nanotron_stage_layers(job, false), (std::vector<int64_t>{10, 6}));
  EXPECT_EQ(spec::nanotron_stage_layers(job, true), (std::vector<int64_t>{11, 5}));
}

TEST(Memory, CapacityLeavesTheReserveOut) {
  spec::Job job = job_with({});
  base::Parameter reserve;
  reserve.value = 2e9;
  job.cluster.node.parameters.set("memory_reserve", reserve);
  const MemoryReport report = test::memory_of(job);
  EXPECT_EQ(report.capacity, 78e9);
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(memory_advice(job, report), "");
}

TEST(HardwareFlops, RecomputedLayersAreTheDivisions) {
  // Block recomputation of two layers a chunk on uneven chunks: of 3, 1, 4 and no layers at most 2
  // each.
  spec::Job job = job_with({.pp = 2, .vpp = 2, .micro_batches = 2});
  job.parallelism.stage_layers = {3, 1, 4, 0};
  job.training.recompute = spec::Recompute::kFull;
  job.training.recompute_method = spec::RecomputeMethod::kBlock;
  job.training.recompute_layers = 2;
  const workload::Workload workload = workload::lower(job);
  double layers = 0;
  for (const Stage& stage : divide(job, workload))
    for (const Chunk& chunk : stage.chunks) layers += static_cast<double>(chunk.recomputed_blocks);
  EXPECT_EQ(layers, 2 + 1 + 2);
  const double forward = 128 * 2 * (4.0 * 64 * 64 + 3 * 64 * 256 + 64 * 128);
  EXPECT_EQ(
      workload::hardware_flops_per_step(job).value() - workload::model_flops_per_step(job).value(),
      layers * 2 * forward);
}

spec::Job torch_ddp_job(const test::Shape& shape) {
  spec::Job job = job_with(shape);
  job.training.framework = spec::Framework::kTorchFsdp;
  job.training.autocast = true;
  job.parallelism.zero_stage = 0;
  job.software.parameters.set("ddp.autocast", {1, "", "", base::Grade::kMeasured});
  return job;
}

// Weights are the FP32 masters, gradients and both moments are whole; from two replicas on buckets
// lie beside gradients.
TEST(Memory, AutocastKeepsOneCopyOfTheWeights) {
  const auto states = [&](const test::Shape& shape) {
    const StageMemory stage = test::memory_of(torch_ddp_job(shape)).worst();
    expect_parts_add_up(stage);
    return std::vector<double>{stage.weights / kModel, stage.gradients / kModel,
                               stage.optimizer / kModel};
  };
  EXPECT_EQ(states({.micro_batches = 2}), (std::vector<double>{4, 4, 8}));
  EXPECT_EQ(states({.dp = 2, .micro_batches = 2}), (std::vector<double>{4, 8, 8}));
}

// Where activations are few the peak is the end of backward: in FP32 the head's gradient of the
// shared matrix beside all, in 16 bit it and the sum of both.
TEST(Memory, ATiedEmbeddingHasTwoGradients) {
  spec::Job job = torch_ddp_job({});
  job.model.tied_embeddings = true;
  job.training.seq_length = 1;
  const double all = 8 * kLayer + kTable + kNorm;
  EXPECT_EQ(part(test::memory_of(job).worst(), "gradients"), 4 * (all + kTable));
  job.training.autocast = job.training.master_weights = job.training.gradients_fp32 = false;
  EXPECT_EQ(part(test::memory_of(job).worst(), "gradients"), 2 * (all + 2 * kTable));
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 4;
  EXPECT_LT(part(test::memory_of(job).worst(), "gradients"), 2 * kTable);
}

// Of a step's only micro batch gradients appear in backward; buckets last.
TEST(Memory, DataParallelBucketsOutlastGradients) {
  const plan::MemoryReport one = test::memory_of(torch_ddp_job({})),
                           two = test::memory_of(torch_ddp_job({.dp = 2}));
  EXPECT_LT(one.worst().gradients, 4 * kModel);
  EXPECT_DOUBLE_EQ(two.worst().gradients - one.worst().gradients, 4 * kModel);
  EXPECT_DOUBLE_EQ(two.allocated_after_step - one.allocated_after_step, 4 * kModel);
}

TEST(Memory, ACheckpointHoldsEveryExpertOnce) {
  spec::Job job = test::make_job({.dp = 4, .ep = 2, .layers = 2});
  const double without = checkpoint_bytes(job, workload::lower(job));
  job.training.moe_redundant_experts = 4;
  EXPECT_NEAR(checkpoint_bytes(job, workload::lower(job)), without, 1e-9 * without);
}

}  // namespace
}  // namespace ergometer::plan
