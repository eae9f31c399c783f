#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "workload/test_lines.h"

// MoE layers, operator by operator. Mixtral 8x7B: h = 4096, 8 experts of 14336, top 2; the stream
// of 4096 tokens has 4096^2 = 16,777,216 elements.

namespace ergometer::workload {
namespace {

using namespace test;

constexpr double kMixtralStream = 16'777'216;

spec::Job mixtral_job(int64_t tp, int64_t dp, int64_t ep, int64_t etp) {
  spec::Job job = job_of(mixtral_8x7b(), 4096, tp, dp);
  job.parallelism.ep = ep;
  job.parallelism.etp = etp;
  return job;
}

std::vector<Item> from(const Workload& workload, const std::vector<Item>& items,
                       const std::string& first, const std::string& last) {
  std::vector<Item> part;
  bool inside = false;
  for (const Item& item : items) {
    inside = inside || word(workload, item) == first;
    if (inside) part.push_back(item);
    if (inside && word(workload, item) == last) break;
  }
  return part;
}

// EP 8, TP 1: a rank sends 2 * 4096 = 8192 rows and computes 8192 rows of its one expert.
TEST(MoeLayer, ForwardWithOneExpertARank) {
  const Workload workload = lower(mixtral_job(1, 8, 8, 1));
  expect_lines(
      workload, from(workload, layer_block(workload, 0).forward, "mlp_norm", "mlp_residual_add"),
      {memory("mlp_norm", 4 * kMixtralStream),
       gemm("router", 4096, 8, 4096, 2 * (kMixtralStream + 8 * 4096 + 4096 * 8)),
       memory("router_topk", 9.0 * 4096 * 8),      // logits, probabilities, map: 4 + 4 + 1 bytes
       memory("ep_all_gather_counts", 4 * 8 * 8),  // 8 counts of 8 ranks
       memory("moe_counts_to_host", 4 * 8),
       memory("permute",
              2 * kMixtralStream +
                  2 * 2 * kMixtralStream),  // reads every token, writes two rows of it
       memory("ep_all_to_all_probs", 4 * 8192), memory("ep_all_to_all_dispatch", 2 * 8192.0 * 4096),
       gemm("expert_fc1", 8192, 28672, 4096, 2 * (8192.0 * 4096 + 28672.0 * 4096 + 8192.0 * 28672)),
       memory("expert_activation", 6.0 * 8192 * 14336 + 4 * 8192),
       gemm("expert_fc2", 8192, 4096, 14336, 2 * (8192.0 * 14336 + 14336.0 * 4096 + 8192.0 * 4096)),
       memory("ep_all_to_all_combine", 2 * 8192.0 * 4096),
       memory("unpermute", 2 * 2 * kMixtralStream + 2 * kMixtralStream),
       memory("mlp_residual_add", 6 * kMixtralStream)});
  EXPECT_EQ(find_op(workload, layer_block(workload, 0).forward, "router").model_flops, 0);
}

/// `sequences` of a replica decoded at once.
Workload decoded(spec::Job job, int64_t sequences) {
  job.training.mode = spec::Mode::kDecode;
  job.training.micro_batch = sequences;
  job.training.global_batch = sequences * job.parallelism.dp;
  return lower(job);
}

// Of a token two of eight experts are read, 28672 x 4096 weights each; all eight lie there.
TEST(MoeLayer, OneTokenReadsTheExpertsThatItChooses) {
  const spec::Job job = mixtral_job(1, 1, 1, 1);
  const Workload workload = decoded(job, 1);
  const Block& block = layer_block(workload, 0);
  const Operator& fc1 = find_op(workload, block.forward, "expert_fc1");
  EXPECT_EQ(fc1.groups, 2);
  EXPECT_EQ(fc1.m, 1);
  EXPECT_EQ(fc1.bytes, 2 * (2 * 4096 + 2 * 28672.0 * 4096 + 2 * 28672));
  EXPECT_EQ(block.parameters.expert, 8 * 3 * 14336.0 * 4096);
  EXPECT_EQ(block.parameters.expert, layer_block(lower(job), 0).parameters.expert);
}

// Four tokens: 8 (1 - (3/4)^4) = 5.47 experts, 5; their eight rows are two an expert at most. From
// ln(2 x 8) = 2.8 rows an expert on, eleven tokens, all: 8 (1 - (3/4)^11) = 7.66, eight.
TEST(MoeLayer, MoreTokensReachMoreExperts) {
  const auto fc1 = [](int64_t sequences) {
    const Workload workload = decoded(mixtral_job(1, 1, 1, 1), sequences);
    return find_op(workload, layer_block(workload, 0).forward, "expert_fc1");
  };
  EXPECT_EQ(fc1(4).groups, 5);
  EXPECT_EQ(fc1(4).m, 2);
  EXPECT_EQ(fc1(11).groups, 8);
  EXPECT_EQ(fc1(64).groups, 8);
  EXPECT_EQ(fc1(64).m, 16);
}

// Two replicas' tokens meet at the experts of two ranks: 8 (1 - (3/4)^2) = 3.5 experts, half of
// them on a rank: 1.75, two. A token on eight ranks reaches one expert where it reaches any.
TEST(MoeLayer, TokensOfAllRanksReachExperts) {
  const auto groups = [](const spec::Job& job) {
    const Workload workload = decoded(job, 1);
    return find_op(workload, layer_block(workload, 0).forward, "expert_fc1").groups;
  };
  EXPECT_EQ(groups(mixtral_job(1, 2, 2, 1)), 2);
  EXPECT_EQ(groups(mixtral_job(8, 1, 8, 1)), 1);
  // Experts split over the ranks of a token's tensor: all of them read a slice of its two experts.
  EXPECT_EQ(groups(mixtral_job(8, 1, 1, 8)), 2);
}

// Experts with a GEMM each: two GEMMs a matrix, and the parameters of all eight.
TEST(MoeLayer, SeparateExpertsThatNoRowReachesRunNothing) {
  spec::Job job = mixtral_job(1, 1, 1, 1);
  job.training.moe_grouped_gemm = false;
  const Workload workload = decoded(job, 1);
  const Block& block = layer_block(workload, 0);
  EXPECT_EQ(std::ranges::count(words(workload, block.forward), "expert_fc1"), 2);
  EXPECT_NEAR(block.parameters.expert, 8 * 3 * 14336.0 * 4096, 1);
}

// A capacity pads every expert to as many rows: all are read.
TEST(MoeLayer, PaddedExpertsAreAllRead) {
  spec::Job job = mixtral_job(1, 1, 1, 1);
  job.training.moe_capacity_factor = 1;
  job.training.moe_pad_to_capacity = true;
  const Workload workload = decoded(job, 1);
  EXPECT_EQ(find_op(workload, layer_block(workload, 0).forward, "expert_fc1").groups, 8);
}

// Eight experts, four GEMMs a launch: in layers that gradients do not reach as in the others.
TEST(MoeLayer, FrozenLayersLaunchAsTrainingDoes) {
  spec::Job job = mixtral_job(1, 1, 1, 1);
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 8;
  job.model.layers.front().adapters = job.model.layers.front().backward = false;
  const Workload workload = lower(job);
  for (const size_t layer : {0, 1})
    EXPECT_EQ(find_op(workload, layer_block(workload, layer).forward, "expert_fc1").kernels, 2);
  EXPECT_TRUE(layer_block(workload, 0).backward.empty());
}

// DeepEP sends each of 4096 tokens once to each of the two ranks that hold its experts: a rank gets
// 8192 rows, which its one expert takes as they are.
TEST(MoeLayer, FlexSendsTokensOnce) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  job.training.moe_dispatcher = spec::MoeDispatcher::kDeepEp;
  const Workload workload = lower(job);
  const auto items =
      from(workload, layer_block(workload, 0).forward, "moe_counts_to_host", "expert_fc1");
  EXPECT_EQ(words(workload, items),
            (std::vector<std::string>{"moe_counts_to_host", "ep_all_to_all_dispatch", "permute",
                                      "expert_fc1"}));
  const Operator& dispatch = op_of(workload, items[1]);
  EXPECT_EQ(dispatch.comm_bytes, 2 * kMixtralStream);
  EXPECT_EQ(dispatch.routing.choices, 2);
  EXPECT_NEAR(op_of(workload, items[2]).bytes, 2 * 2 * 8192.0 * 4096, 1);
}

// HybridEP's exchange ends with the same copies: 8192 rows read and written, in the dispatch, in
// the combination and in both their backwards; no kernel of its own is left.
TEST(MoeLayer, HybridEpCopiesInsideItsExchange) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  job.training.moe_dispatcher = spec::MoeDispatcher::kHybridEp;
  const Workload workload = lower(job);
  const Block& block = layer_block(workload, 0);
  int exchanges = 0;
  for (const auto* items : {&block.forward, &block.backward})
    for (const Item& item : *items) {
      const std::string name = word(workload, item);
      EXPECT_EQ(name.find("permute"), name.npos) << name;
      if (!name.starts_with("ep_all_to_all")) continue;
      ++exchanges;
      EXPECT_NEAR(op_of(workload, item).bytes, 2 * 2 * 8192.0 * 4096, 1) << name;
    }
  EXPECT_EQ(exchanges, 4);
}

TEST(MoeLayer, FullGraphsDoNotWaitForCounts) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  job.training.cuda_graphs = true;
  const Workload workload = lower(job);
  for (const Item& item : layer_block(workload, 0).forward)
    EXPECT_NE(word(workload, item), "moe_counts_to_host");
}

TEST(MoeLayer, ServingQuantizesAllExpertsRowsAtOnce) {
  spec::Job job = mixtral_job(1, 1, 1, 1);
  job.training.precision = spec::Precision::kFp8;
  const auto casts = [&] {
    const Workload workload = lower(job);
    return find_op(workload, layer_block(workload, 0).forward, "expert_fc1_fp8_cast").expert_casts;
  };
  EXPECT_EQ(casts(), 8);
  job.training.mode = spec::Mode::kPrefill;
  EXPECT_EQ(casts(), 0);
}

// One graph for the whole iteration takes kernels that read row counts on the GPU: those of MXFP8
// have the activation and its quantization in them.
TEST(MoeLayer, FullGraphsFuseMxfp8ExpertsWithTheirActivation) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  job.training.precision = spec::Precision::kFp8;
  job.training.fp8_recipe = spec::Fp8Recipe::kMxfp8;
  const auto names = [&] {
    std::string all;
    const Workload workload = lower(job);
    const Block& block = layer_block(workload, 0);
    for (const auto* items : {&block.forward, &block.backward})
      for (const Item& item : *items) all += word(workload, item) + " ";
    return all;
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int times = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count(names(), "expert_activation"), 2);
  EXPECT_EQ(count(names(), "expert_fc1_fp8_cast"), 2);  // the rows, and the output's gradient
  EXPECT_EQ(count(names(), "expert_fc2_fp8_cast"), 2);
  job.training.cuda_graphs = true;
  job.training.cuda_graph_scope = {"full_iteration"};
  EXPECT_EQ(count(names(), "expert_activation"), 0);
  EXPECT_EQ(count(names(), "expert_fc1_fp8_cast"), 1);  // the rows from the dispatch
  EXPECT_EQ(count(names(), "expert_fc2_fp8_cast"), 1);  // the gradient from the combination
  job.training.moe_capacity_factor = 1;                 // static shapes need no such kernels
  job.training.moe_pad_to_capacity = true;
  EXPECT_EQ(count(names(), "expert_activation"), 2);
}

TEST(MoeLayer, BackwardWithOneExpertARank) {
  const Workload workload = lower(mixtral_job(1, 8, 8, 1));
  const double fc1 = 28672.0 * 4096, fc2 = 14336.0 * 4096, rows = 8192.0 * 4096;
  expect_lines(
      workload,
      from(workload, layer_block(workload, 0).backward, "unpermute_backward", "mlp_norm_backward"),
      {memory("unpermute_backward", 6 * kMixtralStream), memory("ep_all_to_all_combine", 2 * rows),
       gemm("expert_fc2_dgrad", 8192, 14336, 4096, 2 * (rows + fc2 + 8192.0 * 14336)),
       gemm("expert_fc2_wgrad", 4096, 14336, 8192, 2 * (rows + 8192.0 * 14336) + 8 * fc2),
       memory("expert_activation_backward", 10.0 * 8192 * 14336 + 8 * 8192),
       gemm("expert_fc1_dgrad", 8192, 4096, 28672, 2 * (8192.0 * 28672 + fc1 + rows)),
       gemm("expert_fc1_wgrad", 28672, 4096, 8192, 2 * (8192.0 * 28672 + rows) + 8 * fc1),
       memory("ep_all_to_all_probs", 4 * 8192), memory("ep_all_to_all_dispatch", 2 * rows),
       memory("permute_backward", 6 * kMixtralStream),
       memory("router_topk_backward", 12.0 * 4096 * 8),
       gemm("router_dgrad", 4096, 4096, 8, 2 * (4096 * 8 + 8 * 4096 + kMixtralStream)),
       gemm("router_wgrad", 8, 4096, 4096, 2 * (4096 * 8 + kMixtralStream) + 8 * 8 * 4096),
       memory("branch_grad_add", 6 * kMixtralStream),
       memory("mlp_norm_backward", 6 * kMixtralStream)});
}

// TP 4 with sequence parallelism, EP 4, ETP 2: a rank routes 1024 tokens, sends 2048 rows, and with
// its ETP neighbour's computes 4096 rows in half of two experts: 2048 rows each.
TEST(MoeLayer, ForwardWithExpertTensorParallelism) {
  const Workload workload = lower(mixtral_job(4, 4, 4, 2));
  const double shard = kMixtralStream / 4, rows = 4096.0 * 4096;
  expect_lines(
      workload, from(workload, layer_block(workload, 0).forward, "mlp_norm", "mlp_residual_add"),
      {memory("mlp_norm", 4 * shard),
       gemm("router", 1024, 8, 4096, 2 * (shard + 8 * 4096 + 1024 * 8)),
       memory("router_topk", 9.0 * 1024 * 8), memory("ep_all_gather_counts", 4 * 8 * 4),
       memory("etp_all_gather_counts", 4 * 8 * 4 * 2), memory("moe_counts_to_host", 4 * 8),
       memory("permute", 6 * shard), memory("ep_all_to_all_probs", 4 * 2048),
       memory("ep_all_to_all_dispatch", 2 * 2048.0 * 4096), memory("etp_all_gather", 2 * rows),
       memory("sort_chunks", 4 * rows),
       gemm("expert_fc1", 2048, 14336, 4096, 2 * (rows + 2 * 14336.0 * 4096 + 4096.0 * 14336), 2),
       memory("expert_activation", 6.0 * 4096 * 7168 + 4 * 4096),
       gemm("expert_fc2", 2048, 4096, 7168, 2 * (4096.0 * 7168 + 2 * 7168.0 * 4096 + rows), 2),
       memory("sort_chunks", 4 * rows), memory("etp_reduce_scatter", 2 * rows),
       memory("ep_all_to_all_combine", 2 * 2048.0 * 4096), memory("unpermute", 6 * shard),
       memory("mlp_residual_add", 6 * shard)});
  const Operator& fc1 = find_op(workload, layer_block(workload, 0).forward, "expert_fc1");
  EXPECT_EQ(fc1.kind, OperatorKind::kGroupedGemm);
  EXPECT_EQ(fc1.groups, 2);
  // Two of eight experts, each halved.
  EXPECT_EQ(layer_block(workload, 0).parameters.expert, 2 * 3 * 4096.0 * 7168);
  EXPECT_EQ(layer_block(workload, 0).parameters.dense,
            4096.0 * (1536 + 1024) + 4096 * 8 + 2 * 4096);
}

TEST(MoeLayer, FullRecomputationRepeatsForward) {
  spec::Job job = mixtral_job(4, 4, 4, 2);
  job.training.recompute = spec::Recompute::kFull;
  const Workload workload = lower(job);
  expect_repeats_forward(workload, layer_block(workload, 0));
}

TEST(MoeLayer, ActivationAloneIsRecomputedBeforeFc2) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  const double kept = layer_block(lower(job), 0).activations.kept;
  // A token: 8h stream, 2 (4096 + 2048) q, k, v, 2 * 4096 o, 4 * 32 LSE, 4 * 8 router; a row: 2h, 4
  // fe, 2 fe, 4.
  EXPECT_EQ(kept, 4096.0 * (8 * 4096 + 2 * 6144 + 2 * 4096 + 128 + 32) +
                      8192.0 * (2 * 4096 + 6 * 14336 + 4));
  job.training.recompute = spec::Recompute::kSelective;
  job.training.recompute_modules = {"moe_act"};
  const Workload workload = lower(job);
  const std::vector<std::string> backward = words(workload, layer_block(workload, 0).backward);
  EXPECT_EQ(std::vector<std::string>(backward.begin(), backward.begin() + 4),
            (std::vector<std::string>{"unpermute_backward", "ep_all_to_all_combine",
                                      "expert_activation", "expert_fc2_dgrad"}));
  EXPECT_EQ(layer_block(workload, 0).activations.kept, kept - 2.0 * 8192 * 14336);
}

TEST(MoeLayer, CapacityPadsAndNeedsNoCounts) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  job.training.moe_capacity_factor = 1.25;
  job.training.moe_pad_to_capacity = true;
  const Workload workload = lower(job);
  const std::vector<Item>& forward = layer_block(workload, 0).forward;
  // 4096 * 2 / 8 * 1.25 = 1280 rows of every rank for every expert: 10240 sent, 10240 computed,
  // 8192 the model's.
  EXPECT_EQ(find_op(workload, forward, "ep_all_to_all_dispatch").comm_bytes, 2 * 10240.0 * 4096);
  const Operator& fc1 = find_op(workload, forward, "expert_fc1");
  EXPECT_EQ(fc1.m, 10240);
  EXPECT_EQ(fc1.model_flops, fc1.flops * 0.8);
  EXPECT_EQ(find_op(workload, forward, "moe_counts_to_host").name, "");
}

TEST(MoeLayer, WithoutGroupedGemmEveryExpertHasItsOwn) {
  spec::Job job = mixtral_job(1, 2, 2, 1);  // four experts a rank, 8192 rows in all
  job.training.moe_grouped_gemm = false;
  const Workload workload = lower(job);
  const std::vector<std::string> forward = words(workload, layer_block(workload, 0).forward);
  EXPECT_EQ(std::count(forward.begin(), forward.end(), "expert_fc1"), 4);
  const Operator& fc1 = find_op(workload, layer_block(workload, 0).forward, "expert_fc1");
  EXPECT_EQ(fc1.kind, OperatorKind::kGemm);
  EXPECT_EQ(fc1.m, 2048);
  EXPECT_EQ(fc1.flops, 2.0 * 2048 * 28672 * 4096);
}

TEST(MoeLayer, AllGatherDispatcherGathersTokens) {
  spec::Job job = mixtral_job(1, 8, 8, 1);
  job.training.moe_dispatcher = spec::MoeDispatcher::kAllGather;
  const Workload workload = lower(job);
  expect_lines(
      workload, from(workload, layer_block(workload, 0).forward, "ep_all_gather", "permute"),
      {memory("ep_all_gather", 2 * 8 * kMixtralStream), memory("permute", 4 * 8192.0 * 4096)});
  expect_lines(workload,
               from(workload, layer_block(workload, 0).forward, "unpermute", "ep_reduce_scatter"),
               {memory("unpermute", 2 * (8192.0 * 4096 + 8 * kMixtralStream)),
                memory("ep_reduce_scatter", 2 * 8 * kMixtralStream)});
}

TEST(SharedExpert, RunsBeforeTheRouterOrBesideTheAllToAlls) {
  spec::Job job = job_of(deepseek_v3(), 4096, 1, 8);
  job.parallelism.ep = 8;
  job.parallelism.etp = 1;
  const Workload in_line = lower(job);
  const std::vector<std::string> first =
      words(in_line, from(in_line, layer_block(in_line, 60).forward, "mlp_norm", "router"));
  EXPECT_EQ(first, (std::vector<std::string>{"mlp_norm", "shared_fc1", "shared_activation",
                                             "shared_fc2", "router"}));
  job.training.moe_shared_overlap = true;
  const Workload beside = lower(job);
  const std::vector<std::string> dispatch = words(
      beside, from(beside, layer_block(beside, 60).forward, "ep_all_to_all_probs", "sort_chunks"));
  EXPECT_EQ(dispatch, (std::vector<std::string>{
                          "ep_all_to_all_probs", "expert<compute", "ep_all_to_all_dispatch@expert",
                          "shared_fc1", "shared_activation", "compute<expert", "sort_chunks"}));
  const std::vector<std::string> combine =
      words(beside, from(beside, layer_block(beside, 60).forward, "expert_fc2", "unpermute"));
  EXPECT_EQ(combine, (std::vector<std::string>{"expert_fc2", "sort_chunks", "expert<compute",
                                               "ep_all_to_all_combine@expert", "shared_fc2",
                                               "compute<expert", "unpermute"}));
}

/// Bytes a token of a layer's kept tensors.
std::map<std::string, double> kept_by_token(const spec::Job& job) {
  std::map<std::string, double> parts;
  const Workload workload = lower(job);
  for (const auto& [name, bytes] :
       workload.blocks[static_cast<size_t>(workload.layer_blocks[0])].activations.parts)
    parts[name] += bytes / static_cast<double>(job.training.seq_length);
  return parts;
}

// Qwen2-57B-A14B: h = 3584, top 8 of 64, one shared expert. An adapter at both fc1 keeps both
// inputs, 2h a token: of 8 experts 57,344 bytes, of the shared one 7,168; whole, too, where
// sequence parallelism splits the stream.
TEST(MoeLayer, AdaptersOfSharedExpertsKeepTheirInput) {
  spec::Model model = dense_model(28, 3584, 18944, 28, 4, 151936);
  model.experts.count = 64;
  model.experts.top_k = 8;
  model.experts.ffn = 2560;
  model.experts.shared_ffn = 20480;
  for (spec::Layer& layer : model.layers) layer.moe = true;
  spec::Job job = job_of(std::move(model), 4096, 1, 8);
  job.parallelism.ep = 8;
  job.training.mode = spec::Mode::kLora;
  job.training.lora_rank = 16;
  job.training.lora_targets = {"qkv"};
  EXPECT_FALSE(kept_by_token(job).contains("shared_fc1_input"));
  job.training.lora_targets = {"qkv", "fc1"};
  const auto parts = kept_by_token(job);
  EXPECT_EQ(parts.at("expert_fc1_input"), 57'344);
  EXPECT_EQ(parts.at("shared_fc1_input"), 7'168);
  EXPECT_FALSE(parts.contains("router_input"));
  job.parallelism.tp = 2;
  job.parallelism.sequence_parallel = true;
  EXPECT_EQ(kept_by_token(job).at("shared_fc1_input"), 7'168);
}

}  // namespace
}  // namespace ergometer::workload
