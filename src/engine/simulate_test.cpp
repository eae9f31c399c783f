#include "engine/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/test_support.h"
#include "engine/time/test_job.h"
#include "engine/views/kernel_list.h"
#include "spec/catalog/read.h"
#include "workload/flops.h"

namespace ergometer::engine {
namespace {

using test::job_of;
using test::Values;

/// Llama-3-8B on two nodes of eight H100: TP 2, PP 2, DP 4, 8 micro batches.
spec::Job small_job(const Values& more = {}) { return test::llama3_8b(16, more); }

Simulation simulated(const spec::Job& job, const SimulateOptions& options = {}) {
  return base::value_of(simulate_in_full(job, options));
}

TEST(Simulate, PartsAddUpToTheStep) {
  const Simulation result = simulated(small_job(), {.all_ranks = true});
  const double step_s = result.run.performance.step_time_s;
  EXPECT_GT(step_s, 0);
  EXPECT_NEAR(test::total(result.run.performance.breakdown_s), step_s, 1e-9 * step_s);
  ASSERT_EQ(result.run.ranks.size(), 16u);
  for (const run::Rank& rank : result.run.ranks)
    EXPECT_NEAR(test::total(rank.breakdown_s), step_s, 1e-9 * step_s);
  EXPECT_EQ(result.run.ranks[11].node, 1);
  EXPECT_EQ(result.run.ranks[11].slot, 3);
  EXPECT_EQ(result.run.ranks[11].stage, 1);  // stages of 2 x 4 ranks
}

// Circuits that change within a step, in no time and with nothing beside the passes, are as good
// for all that is sent, or better.
TEST(Simulate, CircuitsOfPhasesAreNeverSlower) {
  int faster = 0;
  for (const char* degree : {"2", "3", "4", "6"})
    for (const char* pp : {"2", "4"})
      for (const char* model : {"llama3-8b", "mixtral-8x7b", "gemma-7b"})
        for (const char* zero : {"0", "1"}) {
          const auto step_s = [&](const char* when) {
            const std::string cluster = fmt::format(
                "{{extends: hgx-h100, fabric: {{kind: optical, collectives: ib-400g, degree: {}, "
                "link_bandwidth: 400 Gb/s, reconfigure: {}, reconfiguration_time: 0 s}}}}",
                degree, when);
            const bool experts = std::string_view(model) == "mixtral-8x7b";
            const spec::Job job = job_of({{"model", model},
                                          {"cluster", cluster},
                                          {"gpus", "128"},
                                          {"tp", "2"},
                                          {"pp", pp},
                                          {"ep", experts ? "8" : "1"},
                                          {"zero", zero},
                                          {"gbs", "256"},
                                          {"seq_length", "1024"}});
            return simulated(job, {.kernels = false, .intervals = false})
                .run.performance.step_time_s;
          };
          const double phases_s = step_s("phase"), fixed_s = step_s("step");
          EXPECT_LE(phases_s, fixed_s * (1 + 1e-9)) << degree << ' ' << pp << ' ' << model;
          faster += phases_s < 0.999 * fixed_s ? 1 : 0;
        }
  EXPECT_GT(faster, 10);
}

// Four GPUs of a node of eight, on the others another job's 500 W each, of which the HBM has 60.
TEST(Simulate, GpusOfOtherJobsDrawAndWarm) {
  const spec::Job job = test::llama3_8b(4);
  std::vector<OtherWork> others;
  for (int64_t gpu = 4; gpu < 8; ++gpu)
    others.push_back({.gpu = gpu, .watts = 500, .memory_w = 60});
  const run::Run alone = simulated(job, {.intervals = false}).run;
  const run::Run beside = simulated(job, {.intervals = false, .others = others}).run;
  const run::PowerPart& gpus = beside.power.node_parts.front();
  ASSERT_EQ(gpus.name, "gpus");
  EXPECT_NEAR(gpus.watts, 4 * beside.power.mean_w_per_gpu + 4 * 500, 1e-6);
  EXPECT_GT(beside.power.cluster_mean_w, alone.power.cluster_mean_w + 4 * 400);
  EXPECT_GE(beside.thermal.fan_fraction, alone.thermal.fan_fraction - 1e-3);
  EXPECT_GE(beside.thermal.max_gpu_c, alone.thermal.max_gpu_c - 1);
}

// 32 sequences of 4096 tokens a step; TFLOP/s and MFU follow from the step time.
TEST(Simulate, RatesFollowFromTheStep) {
  const spec::Job job = small_job();
  const run::Performance performance = simulated(job).run.performance;
  EXPECT_DOUBLE_EQ(performance.tokens_per_s, 32 * 4096 / performance.step_time_s);
  EXPECT_DOUBLE_EQ(performance.tokens_per_s_per_gpu, performance.tokens_per_s / 16);
  const double tflops =
      workload::model_flops_per_step(job).value() / performance.step_time_s / 16 / 1e12;
  EXPECT_DOUBLE_EQ(performance.model_tflops_per_gpu, tflops);
  EXPECT_NEAR(performance.mfu, tflops * 1e12 / job.cluster.node.gpu.peak_bf16_flops_per_s, 1e-12);
  EXPECT_GT(performance.mfu, 0.2);  // anything else is no H100 under Megatron
  EXPECT_LT(performance.mfu, 0.8);
}

// Kernels that communicate take no longer than products and library calls behind each other.
TEST(Simulate, FusedKernelsNeverLoseToTheirParts) {
  const auto step_s = [](Values values, const char* fused) {
    if (fused != nullptr) values.emplace_back("fuse", fused);
    return simulated(small_job(values)).run.performance.step_time_s;
  };
  const Values tensor[] = {{},
                           {{"tp", "8"}, {"pp", "1"}, {"seq", "256"}},
                           {{"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}},
                           {{"recompute", "full"}, {"fp8", "true"}},
                           {{"pp", "1"}, {"fsdp", "true"}}};
  for (Values values : tensor) {
    values.emplace_back("sequence_parallel", "true");
    const double apart_s = step_s(values, nullptr);
    for (const char* fused : {"ag-gemm", "gemm-rs", "ag-gemm,gemm-rs"})
      EXPECT_LT(step_s(values, fused), apart_s) << fused;
  }
  const Values experts[] = {
      {}, {{"moe_routing", "zipf:1"}}, {{"moe_token_dispatcher_type", "flex"}}};
  for (Values values : experts) {
    values.insert(values.begin(), {{"model", "mixtral-8x7b"}, {"tp", "1"}, {"ep", "4"}});
    EXPECT_LT(step_s(values, "a2a-gemm"), step_s(values, nullptr));
  }
}

TEST(Simulate, BothEnginesGiveOneAnswer) {
  const Values variants[] = {{},
                             {{"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}},
                             {{"tp_comm_overlap", "true"}, {"overlap_p2p", "true"}},
                             {{"sequence_parallel", "true"}, {"fuse", "ag-gemm,gemm-rs"}},
                             {{"recompute_granularity", "full"}, {"batch_p2p_sync", "true"}},
                             {{"pipeline_model_parallel_size", "1"}, {"fsdp", "true"}},
                             {{"model", "mixtral-8x7b"}, {"expert_model_parallel_size", "4"}}};
  for (const Values& more : variants) {
    const spec::Job job = small_job(more);
    const run::Performance swept = simulated(job).run.performance;
    const run::Performance events = simulated(job, {.engine = EngineKind::kEvents}).run.performance;
    EXPECT_NEAR(swept.step_time_s, events.step_time_s, 1e-6 * swept.step_time_s);
    EXPECT_NEAR(swept.breakdown_s.idle, events.breakdown_s.idle, 1e-6 * swept.step_time_s);
  }
}

// The second stage, longer by the head, runs at 90 % of the clock and holds the first up: the step
// is longer, though not by more than 1 / 0.9.
TEST(Simulate, SlowNodeSlowsTheJob) {
  const spec::Job job = small_job();
  const double clock = job.cluster.node.gpu.sustained_clock_hz;
  SimulateOptions slow;
  for (int64_t rank = 0; rank < 16; ++rank)
    slow.clocks_hz.push_back(rank < 8 ? clock : 0.9 * clock);
  const double normal_s = simulated(job).run.performance.step_time_s;
  const double slow_s = simulated(job, slow).run.performance.step_time_s;
  EXPECT_GT(slow_s, 1.05 * normal_s);
  EXPECT_LT(slow_s, normal_s / 0.9);
}

// A slowed GPU is slow where nothing governs its clock, too.
TEST(Simulate, AnOverrideSlowsAGpuOfConstantClocks) {
  spec::Job job = small_job();
  job.conditions.constant_clocks = true;
  SimulateOptions slow;
  slow.clocks_hz.assign(static_cast<size_t>(job.gpus), job.cluster.node.gpu.sustained_clock_hz);
  slow.clocks_hz[9] /= 2;
  const double by_clocks_s = simulated(job, slow).run.performance.step_time_s;
  const double even_s = simulated(job).run.performance.step_time_s;
  job.conditions.overrides.push_back(
      {.node = 1, .gpu = 1, .kind = spec::OverrideKind::kSpeed, .value = 0.5, .text = ""});
  EXPECT_EQ(simulated(job).run.performance.step_time_s, by_clocks_s);
  EXPECT_GT(by_clocks_s, 1.2 * even_s);
}

TEST(Simulate, SampledRanksCarryNamedKernels) {
  const Simulation result = simulated(small_job(), {.sampled_ranks = {0, 9}});
  std::set<int64_t> ranks;
  std::set<std::string> categories;
  int64_t gemms = 0, end_ns = 0;
  for (const run::Kernel& kernel : result.run.kernels) {
    ranks.insert(kernel.rank);
    categories.insert(kernel.category);
    EXPECT_GE(kernel.duration_ns, 0);
    end_ns = std::max(end_ns, kernel.start_ns + kernel.duration_ns);
    if (kernel.rank == 0 && kernel.category == "gemm" &&
        kernel.name.find("[qkv]") != std::string::npos)
      ++gemms;
  }
  EXPECT_EQ(ranks, (std::set<int64_t>{0, 9}));
  for (const char* category :
       {"gemm", "attention", "memory", "collective", "send_recv", "optimizer"})
    EXPECT_TRUE(categories.contains(category)) << category;
  EXPECT_EQ(gemms, 16 * 8);  // 16 layers on the stage, 8 micro batches, forward
  EXPECT_NEAR(static_cast<double>(end_ns) * 1e-9, result.run.performance.step_time_s, 2e-9);
}

TEST(KernelName, IsWhatProfilersShow) {
  spec::Gpu gpu;
  gpu.vendor = "NVIDIA";
  gpu.architecture = "ampere";
  workload::Operator op;
  op.kind = workload::OperatorKind::kGemm;
  op.name = "fc1";
  EXPECT_EQ(kernel_name(gpu, op),
            "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn [fc1]");
  gpu.architecture = "cdna3";
  op.layout = workload::GemmLayout::kNt;
  EXPECT_EQ(kernel_name(gpu, op), "Cijk_Ailk_Bjlk_bf16_MT256x256x64 [fc1]");
  gpu.architecture = "somebody's next";
  EXPECT_EQ(kernel_name(gpu, op), "gemm_bf16_nt [fc1]");  // of nobody's library
  op.kind = workload::OperatorKind::kAttention;
  EXPECT_EQ(kernel_name(gpu, op), "flash_fwd_kernel [fc1]");
  op.kind = workload::OperatorKind::kCollective;
  op.collective = workload::CollectiveKind::kAllGather;
  op.name = "tp_all_gather";
  EXPECT_EQ(kernel_name(gpu, op), "ncclDevKernel_AllGather_RING_LL [tp_all_gather]");
  EXPECT_EQ(kernel_category(op), "collective");
  // Gradients are summed in their own type.
  op.collective = workload::CollectiveKind::kReduceScatter;
  op.precision = spec::Precision::kFp32;
  op.name = "grad_reduce_scatter";
  EXPECT_EQ(kernel_name(gpu, op),
            "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL [grad_reduce_scatter]");
}

// Only the pipeline leaves the nodes: 8 micro batches forward and backward, each boundary tensor
// 4096 / 2 tokens of 4096 numbers of 2 bytes (sequence parallelism divides the tokens by TP), from
// the 8 ranks of a stage. And the data parallel groups: stride 2, size 4, within the eight ranks of
// a node, so they do not.
TEST(LinkUse, NicBytesAreThePipelines) {
  const Simulation result = simulated(small_job({{"sequence_parallel", "true"}}));
  const auto nic = std::find_if(result.run.links.begin(), result.run.links.end(),
                                [](const run::Link& link) { return link.kind == "nic"; });
  ASSERT_NE(nic, result.run.links.end());
  const double boundary = 4096.0 / 2 * 4096 * 2;
  double world = 0;  // the gradient norm also crosses: a few bytes
  for (const workload::Operator& op : result.plan.operators)
    if (op.group == workload::GroupKind::kWorld) world += op.comm_bytes;
  EXPECT_NEAR(nic->bytes_per_step, 8 * 2 * boundary * 8, 2 * 16 * world + 1);
  const double per_nic = nic->bytes_per_step / 16 / result.run.performance.step_time_s;
  EXPECT_NEAR(nic->mean_gb_per_s, per_nic / 1e9, 1e-9);
  EXPECT_GE(nic->peak_gb_per_s, nic->mean_gb_per_s);
}

// Many stages and few micro batches: the bubble is (p - 1) / (m + p - 1) = 3 / 7 of the step and
// more than anything.
TEST(Limiter, NamesTheBubble) {
  const spec::Job job = job_of({{"model", "llama3-8b"},
                                {"cluster", "hgx-h100"},
                                {"gpus", "4"},
                                {"pipeline_model_parallel_size", "4"},
                                {"micro_batch_size", "1"},
                                {"global_batch_size", "4"},
                                {"seq_length", "8192"}});
  const run::Run run = simulated(job).run;
  EXPECT_NEAR(run.performance.pipeline_bubble_fraction, 3.0 / 7,
              0.06);  // the last stage also has the head
  EXPECT_NE(run.limiter.find("pipeline bubble"), std::string::npos) << run.limiter;
}

// The head makes the last stage half as heavy again: no number of micro batches helps.
TEST(Limiter, NamesTheStageThatOthersWaitFor) {
  const Values layout = {{"model", "llama3-8b"},
                         {"cluster", "hgx-h100"},
                         {"gpus", "8"},
                         {"pipeline_model_parallel_size", "8"},
                         {"micro_batch_size", "1"},
                         {"global_batch_size", "256"}};
  const run::Run heavy = simulated(job_of(layout)).run;
  EXPECT_NE(heavy.limiter.find("stages wait for stage 7, which takes 1.5"), std::string::npos)
      << heavy.limiter;
  EXPECT_NE(heavy.limiter.find("--vocabulary-parallel"), std::string::npos) << heavy.limiter;
  EXPECT_NE(heavy.limiter.find("it has the head"), std::string::npos) << heavy.limiter;
  EXPECT_EQ(heavy.limiter.find("micro batches"), std::string::npos) << heavy.limiter;
  Values slow = layout;
  slow.emplace_back("override", "gpu2.lock_clock=400MHz");
  slow.emplace_back("stage_layers", "5,5,4,4,4,4,4,2");
  const run::Run held = simulated(job_of(slow)).run;
  EXPECT_NE(held.limiter.find("stages wait for stage 2"), std::string::npos) << held.limiter;
  EXPECT_NE(held.limiter.find("lower clocks"), std::string::npos) << held.limiter;
}

TEST(Limiter, NamesWhatMakesAStageHeavy) {
  const auto says = [](std::initializer_list<std::pair<const char*, const char*>> more) {
    Values layout = {{"cluster", "hgx-h100"},
                     {"gpus", "8"},
                     {"pipeline_model_parallel_size", "8"},
                     {"micro_batch_size", "1"},
                     {"global_batch_size", "256"}};
    for (const auto& it : more) layout.emplace_back(it);
    return simulated(job_of(layout)).run.limiter;
  };
  // The last stage has the head, but its layers are what makes it heavy.
  const std::string layers = says({{"model", "llama2-7b"}, {"stage_layers", "3,3,3,3,3,3,3,11"}});
  EXPECT_NE(layers.find("stages wait for stage 7"), std::string::npos) << layers;
  EXPECT_NE(layers.find("fewer layers on it"), std::string::npos) << layers;
  EXPECT_EQ(layers.find("the head"), std::string::npos) << layers;
  // A vocabulary that all stages share is on no stage alone.
  const std::string divided = says({{"model", "llama3-8b"},
                                    {"vocabulary_parallel", "one-barrier"},
                                    {"stage_layers", "3,3,3,3,3,3,3,11"}});
  EXPECT_NE(divided.find("stages wait for stage 7"), std::string::npos) << divided;
  EXPECT_EQ(divided.find("the head"), std::string::npos) << divided;
  EXPECT_EQ(divided.find("--vocabulary-parallel"), std::string::npos) << divided;
  // A stage of nothing but the head has no layers to give away.
  const std::string bare =
      says({{"model", "llama3-8b"}, {"num_layers", "7"}, {"stage_layers", "1,1,1,1,1,1,1,0"}});
  EXPECT_NE(bare.find("stages wait for stage 7"), std::string::npos) << bare;
  EXPECT_NE(bare.find("it has the head; parts of the vocabulary"), std::string::npos) << bare;
  const std::string again = says({{"model", "llama2-7b"},
                                  {"recompute_granularity", "full"},
                                  {"recompute_stage_layers", "4,0,0,0,0,0,0,0"}});
  EXPECT_NE(again.find("stages wait for stage 0"), std::string::npos) << again;
  EXPECT_NE(again.find("--recompute-stage-layers"), std::string::npos) << again;
}

// 3 of 259 turns are the schedule's: more micro batches leave nearly all of the bubble there.
TEST(Limiter, NoMicroBatchesAgainstWhatTheScheduleDoesNotExplain) {
  const run::Run run = simulated(job_of({{"model", "gpt2"},
                                         {"cluster", "hgx-h100"},
                                         {"gpus", "4"},
                                         {"pipeline_model_parallel_size", "4"},
                                         {"global_batch_size", "256"}}))
                           .run;
  EXPECT_NE(run.limiter.find("pipeline bubble"), std::string::npos) << run.limiter;
  EXPECT_EQ(run.limiter.find("more micro batches"), std::string::npos) << run.limiter;
  EXPECT_NE(run.limiter.find("stages wait for"), std::string::npos) << run.limiter;
}

// A tensor-parallel group's many gathers are more than one long one of data parallelism.
TEST(Limiter, AddsUpTheOperatorsOfAGroup) {
  const run::Run run = simulated(job_of({{"model", "llama3-70b"},
                                         {"cluster", "hgx-h100"},
                                         {"gpus", "64"},
                                         {"tensor_model_parallel_size", "16"},
                                         {"global_batch_size", "16"}}))
                           .run;
  EXPECT_NE(run.limiter.find("mostly tensor parallelism"), std::string::npos) << run.limiter;
}

// Tensor parallelism over the network costs more than anything else can.
TEST(Limiter, NamesExposedCommunication) {
  const spec::Job job = job_of({{"model", "llama3-8b"},
                                {"cluster", "charllm-h100"},
                                {"gpus", "16"},
                                {"tensor_model_parallel_size", "8"},
                                {"micro_batch_size", "1"},
                                {"global_batch_size", "2"},
                                {"seq_length", "1024"}});
  const run::Run run = simulated(job).run;
  EXPECT_NE(run.limiter.find("exposed"), std::string::npos) << run.limiter;
  EXPECT_NE(run.limiter.find("network"), std::string::npos) << run.limiter;
}

// Four stages on a ring of four nodes: 32 micro batches of 4096 x 4096 numbers of 2 bytes go forth
// over one direction of a link and as many back over the other.
TEST(Simulate, StagesSendForthAndBackOnTwoDirectionsOfALink) {
  const spec::Job job = test::llama3_8b(
      32, {{"tp", "8"},
           {"pp", "4"},
           {"sequence_parallel", "true"},
           {"cluster",
            "{extends: hgx-h100, fabric: {kind: torus, collectives: ib-400g, dims: [4], "
            "link_bandwidth: 400 Gb/s}}"}});
  const run::Run run = simulated(job).run;
  const auto along = std::ranges::find(run.links, std::string("x"), &run::Link::kind);
  ASSERT_NE(along, run.links.end());
  const double bytes = 32.0 * 4096 * 4096 * 2;
  EXPECT_NEAR(along->bytes_per_step, bytes, 1e-5 * bytes);
}

// What a GPU copies to the optimizer on the host and back crosses the uplink above it, no socket.
TEST(Simulate, CopiesToTheHostAreOnUplinks) {
  const spec::Job job = job_of(
      {{"model", "gpt2"},
       {"cluster",
        "{extends: rtx-4090, pcie: {socket_link: 10 GB/s, sockets: [{switches: [{uplink: gen3 x16, "
        "gpus: [0, 1, 2, 3], nics: [0]}]}, {switches: [{uplink: gen3 x16, gpus: [4, 5, 6, "
        "7]}]}]}}"},
       {"gpus", "1"},
       {"global_batch_size", "8"},
       {"optimizer_cpu_offload", "true"}});
  const run::Run run = simulated(job).run;
  const auto bytes_on = [&](const std::string& kind) {
    const auto link = std::ranges::find(run.links, kind, &run::Link::kind);
    return link == run.links.end() ? 0 : link->bytes_per_step;
  };
  EXPECT_GT(bytes_on("host"), 0);
  EXPECT_DOUBLE_EQ(bytes_on("uplink"), bytes_on("host"));
  EXPECT_EQ(bytes_on("socket"), 0);
}

TEST(Simulate, DecodeCountsOneTokenASequence) {
  const spec::Job job = job_of({{"model", "llama3-8b"},
                                {"cluster", "hgx-h100"},
                                {"gpus", "8"},
                                {"tensor_model_parallel_size", "8"},
                                {"mode", "decode"},
                                {"micro_batch_size", "16"},
                                {"global_batch_size", "16"},
                                {"seq_length", "2048"}});
  const run::Performance performance = simulated(job).run.performance;
  EXPECT_DOUBLE_EQ(performance.tokens_per_s, 16 / performance.step_time_s);
}

}  // namespace
}  // namespace ergometer::engine
