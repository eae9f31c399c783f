#include "cost/cost.h"

#include <algorithm>

#include "base/test_support.h"
#include "cost/test_support.h"

namespace ergometer::cost {
namespace {

using workload::CollectiveKind;
using workload::GroupKind;
using workload::OperatorKind;

/// Round parameters of one GPU and its node, by hand: 100 TFLOP/s at a boost clock of 2 GHz,
/// sustained 1 GHz.
spec::Job round_bench() {
  spec::Job job;
  job.gpus = 8;
  job.parallelism.dp = 8;
  job.cluster.name = "bench";
  job.cluster.domain_gpus = 8;
  spec::Gpu& gpu = job.cluster.node.gpu;
  job.cluster.node.name = "bench node";
  job.cluster.node.gpus = 8;
  gpu.name = "Round";
  gpu.sms = 100;
  gpu.memory_bytes_per_s = 1e12;
  gpu.boost_clock_hz = 2e9;
  gpu.sustained_clock_hz = 1e9;
  const auto set = [](base::ParameterSet& to, const char* name, double value) {
    to.set(name, {value, "", "", {}});
  };
  set(gpu.parameters, "peak_fp16", 200e12);
  set(gpu.parameters, "peak_bf16", 200e12);
  set(gpu.parameters, "peak_vector", 10e12);
  for (const char* name :
       {"gemm.efficiency", "gemm.wgrad", "gemm.tile_step", "gemm.quantization",
        "gemm.memory_efficiency", "grouped.efficiency", "grouped.wgrad", "grouped.dgrad",
        "attention.forward", "attention.backward", "attention.latent_forward",
        "attention.latent_backward", "attention.small_head", "memory.efficiency",
        "memory.cross_entropy", "memory.permute"}) {
    set(gpu.parameters, name, 1);
  }
  for (const char* name :
       {"gemm.k_ramp", "gemm.fixed", "grouped.m_ramp", "grouped.k_ramp", "attention.length_ramp",
        "attention.tile_ramp", "attention.backward_tile_ramp", "attention.fixed", "memory.ramp",
        "kernel.latency"}) {
    set(gpu.parameters, name, 0);
  }
  set(gpu.parameters, "gemm.tile_m", 256);
  set(gpu.parameters, "gemm.tile_n", 128);
  set(gpu.parameters, "overlap.collective_sms", 20);
  set(gpu.parameters, "overlap.send_sms", 4);
  set(gpu.parameters, "overlap.memory_share", 0.5);
  set(gpu.parameters, "overlap.collective_slowdown", 1.1);
  job.software.name = "round";
  for (const char* name : {"step.fixed", "p2p.fixed", "scale.jitter"})
    set(job.software.parameters, name, 0);
  set(job.software.parameters, "host.launch", 10e-6);
  set(job.software.parameters, "host.graph_launch", 1e-6);
  set(job.software.parameters, "host.collective", 30e-6);
  set(job.software.parameters, "kernels.memory_factor", 1);
  set(job.software.parameters, "kernels.gemm_factor", 1);
  for (const char* name :
       {"ring_bandwidth", "pair_bandwidth", "all_to_all_bandwidth", "low_latency_bandwidth"})
    set(job.cluster.node.parameters, ("collective." + std::string(name)).c_str(), 100e9);
  for (const char* name :
       {"low_latency_base", "low_latency_hop", "latency", "ramp", "ramp_half_size", "ring_base",
        "domain_hop_latency", "peer_latency", "send_latency"}) {
    set(job.cluster.node.parameters, ("collective." + std::string(name)).c_str(), 1e-6);
  }
  return job;
}

CostModel model_of(const spec::Job& job) {
  auto model = CostModel::make(job);
  EXPECT_TRUE(model.has_value()) << base::error_of(model);
  return *std::move(model);
}

TEST(CostModel, RatesAreThoseOfTheSustainedClock) {
  // 200 TFLOP/s at 2 GHz are 100 at the reference of 1 GHz; all of it scales with the clock.
  const Price price = model_of(round_bench()).price(gemm_operator(2560, 1280, 1000), {});
  EXPECT_DOUBLE_EQ(price.clocked_s, 65.536e-6);
  EXPECT_EQ(price.fixed_s, 0);
}

TEST(CostModel, Fp32WithoutAMatrixModeRunsOnVectorUnits) {
  workload::Operator op = gemm_operator(2560, 1280, 1000);
  op.precision = spec::Precision::kFp32;
  EXPECT_NEAR(model_of(round_bench()).price(op, {}).clocked_s, 65.536e-6 * 20, 1e-12);
}

TEST(CostModel, ACompilerFusesCasts) {
  spec::Job job = round_bench();
  workload::Operator op;
  op.kind = OperatorKind::kMemory;
  op.bytes = 1e6;  // 1 us at 1 TB/s
  op.name = "fc1_fp8_cast";
  EXPECT_NEAR(model_of(job).price(op, {}).fixed_s, 1e-6, 1e-15);
  job.software.parameters.set("kernels.cast_factor", {0.5, "", "", base::Grade::kAssumed});
  EXPECT_NEAR(model_of(job).price(op, {}).fixed_s, 0.5e-6, 1e-15);
  op.name = "activation";
  EXPECT_NEAR(model_of(job).price(op, {}).fixed_s, 1e-6, 1e-15);
}

TEST(CostModel, GraphsCutTheLaunch) {
  spec::Job job = round_bench();
  EXPECT_EQ(model_of(job).host().launch_s, 10e-6);
  job.training.cuda_graphs = true;
  EXPECT_EQ(model_of(job).host().launch_s, 1e-6);
}

// On 8 nodes, three doublings of 1 %, every launch waits for the slowest host.
TEST(CostModel, HostsStraggleToo) {
  spec::Job job = round_bench();
  job.software.parameters.set("scale.jitter", {0.01, "", "", base::Grade::kAssumed});
  for (const char* name :
       {"line_efficiency", "all_to_all_line_efficiency", "low_latency_bandwidth", "latency", "ramp",
        "ramp_half_size", "tree_latency", "low_latency_tree_latency", "low_latency_base",
        "low_latency_domain_hop", "low_latency_hop", "ring_base", "ring_hop_latency",
        "peer_latency", "send_latency"})
    job.cluster.fabric.parameters.set("collective." + std::string(name),
                                      {1, "", "", base::Grade::kAssumed});
  job.gpus = int64_t{8} * job.cluster.node.gpus;
  const CostModel model = model_of(job);
  EXPECT_DOUBLE_EQ(model.host().launch_s, 10e-6 * 1.03);
  EXPECT_DOUBLE_EQ(model.host().collective_launch_s, 30e-6 * 1.03);
}

// 200 us for each of four ranks, three quarters of it as long as they share a domain.
TEST(CostModel, TensorCollectivesCostTheHostLessInsideADomain) {
  spec::Job job = round_bench();
  job.parallelism.tp = 4;
  job.gpus = 1;  // the fabric's prices do not matter here
  job.software.parameters.set("host.collective_rank", {200e-6, "s", "", base::Grade::kAssumed});
  EXPECT_DOUBLE_EQ(model_of(job).host().tensor_collective_s, 800e-6);
  job.software.parameters.set("host.collective_near", {0.75, "", "", base::Grade::kAssumed});
  job.cluster.domain_gpus = 4;
  EXPECT_DOUBLE_EQ(model_of(job).host().tensor_collective_s, 600e-6);
  job.cluster.domain_gpus = 2;
  EXPECT_DOUBLE_EQ(model_of(job).host().tensor_collective_s, 800e-6);
}

// 10 us a forward kernel, a quarter of it backward, 30 us a collective; three kernels each.
TEST(CostModel, HostTimeByPassAndKind) {
  spec::Job job = round_bench();
  job.software.parameters.set("host.backward", {0.25, "", "", base::Grade::kAssumed});
  const CostTable table = price_plan(model_of(job), {}, job);
  workload::Operator op = gemm_operator(256, 128, 64);
  op.kernels = 3;
  EXPECT_DOUBLE_EQ(table.host_s(op), 30e-6);
  op.pass = workload::Pass::kWeight;
  EXPECT_DOUBLE_EQ(table.host_s(op), 7.5e-6);
  op.kind = workload::OperatorKind::kCollective;
  EXPECT_DOUBLE_EQ(table.host_s(op), 90e-6);
}

// 100 us an operator's call, 20 us each of its two further kernels; inner operators pay for their
// kernels alone, and backward takes half. An expert's cast is 5 us on top, whatever the pass.
TEST(CostModel, HostTimeOfInnerKernels) {
  HostCosts host;
  host.launch_s = 100e-6, host.inner_launch_s = 20e-6, host.backward_launch = 0.5;
  host.captured_launch_s = 1e-6, host.expert_cast_s = 5e-6;
  workload::Operator op = gemm_operator(256, 128, 64);
  op.kernels = 3;
  EXPECT_DOUBLE_EQ(host.host_s(op), 140e-6);
  op.inner = true;
  op.expert_casts = 4;
  EXPECT_DOUBLE_EQ(host.host_s(op), 80e-6);
  op.pass = workload::Pass::kBackward;
  EXPECT_DOUBLE_EQ(host.host_s(op), 50e-6);
  host.checkpoint_s = 1e-3;
  op.reruns = true;
  EXPECT_DOUBLE_EQ(host.host_s(op), 1050e-6);
  op.captured = true;
  EXPECT_DOUBLE_EQ(host.host_s(op), 3e-6);
  op = {};
  op.kernels = 0;
  EXPECT_EQ(host.host_s(op), 0);
}

// Without `host.kernel` every kernel costs as much as the first.
TEST(CostModel, FurtherKernelsCostALaunchUnlessSaid) {
  spec::Job job = round_bench();
  EXPECT_EQ(model_of(job).host().inner_launch_s, 10e-6);
  job.software.parameters.set("host.kernel", {2e-6, "", "", base::Grade::kAssumed});
  EXPECT_EQ(model_of(job).host().inner_launch_s, 2e-6);
}

// Memory-bound kernels 1.5 times as long, but not the optimizer's and the loss's; GEMMs at 0.8 of
// the rate; 8 nodes are three doublings of 1 %.
TEST(CostModel, SoftwareChangesWhatKernelsTake) {
  const SoftwareParameters software{1.5, 0.8, 0, 1, 3, 1.03};
  workload::Operator op = gemm_operator(256, 128, 64);
  EXPECT_DOUBLE_EQ(software_factor(software, op), 1.25 * 1.03);
  op.kind = workload::OperatorKind::kMemory;
  EXPECT_DOUBLE_EQ(software_factor(software, op), 1.5 * 1.03);
  op.name = "qkv_unpack";  // of weights in 4 bit: three times as long
  EXPECT_DOUBLE_EQ(software_factor(software, op), 3 * 1.03);
  op.name = "norm";
  op.pass = workload::Pass::kOptimizer;
  EXPECT_DOUBLE_EQ(software_factor(software, op), 1.03);
  op.pass = workload::Pass::kForward;
  op.module = workload::Module::kLoss;
  EXPECT_DOUBLE_EQ(software_factor(software, op), 1.03);
  op.module = workload::Module::kData;  // a copy of parameters
  EXPECT_DOUBLE_EQ(software_factor(software, op), 1.03);
}

// A generation's rate is that of products on matrix units: on the vector units there is none.
TEST(CostModel, VectorUnitsHaveNoGenerations) {
  spec::Job job = round_bench();
  job.cluster.node.gpu.peak_bf16_flops_per_s = 1e15;  // what has BF16 has TF32
  const workload::Operator op = gemm_operator(2560, 1280, 1000);
  workload::Operator single = op;
  single.precision = spec::Precision::kFp32;
  job.training.precision = spec::Precision::kFp32;
  job.training.tf32 = false;
  const double products = model_of(job).price(op, {}).clocked_s;
  const double vectors = model_of(job).price(single, {}).clocked_s;
  job.software.parameters.set("kernels.gemm_factor", {0.5, "", "", base::Grade::kAssumed});
  EXPECT_DOUBLE_EQ(model_of(job).price(single, {}).clocked_s, vectors);
  job.training.tf32 = true;
  EXPECT_DOUBLE_EQ(model_of(job).price(op, {}).clocked_s, 2 * products);
}

// 1 GB at 0.5 of 1 TB/s, by kernels that take 1.5 times as long: 3 ms behind the transfer.
TEST(CostModel, CopiesFollowAnExchange) {
  spec::Job job = round_bench();
  job.cluster.node.gpu.parameters.set("memory.permute", {0.5, "", "", {}});
  job.software.parameters.set("kernels.memory_factor", {1.5, "", "", {}});
  const CostModel model = model_of(job);
  workload::Operator op = collective_operator(CollectiveKind::kAllToAll, 1e9);
  const double alone_s = model.price(op, inside(8)).seconds();
  op.bytes = 1e9;
  EXPECT_NEAR(model.price(op, inside(8)).seconds() - alone_s, 3e-3, 1e-12);
}

// 1 GB at 1 TB/s, 1 ms, or at 5 GB/s on each of 100 SMs, 2 ms; half of either: 1.5 ms.
TEST(CostModel, WhatSmsIssueBindsSomeKernels) {
  spec::Job job = round_bench();
  workload::Operator op;
  op.kind = OperatorKind::kMemory;
  op.bytes = 1e9;
  op.issued_share = 0.5;
  EXPECT_NEAR(model_of(job).price(op, {}).seconds(), 1e-3, 1e-12);
  job.cluster.node.gpu.parameters.set("memory.issue", {5e9, "", "", {}});
  EXPECT_NEAR(model_of(job).price(op, {}).fixed_s, 1.5e-3, 1e-12);
}

TEST(CostModel, AMissingParameterIsNamed) {
  spec::Job job = round_bench();
  base::ParameterSet without;
  for (const auto& [name, parameter] : job.cluster.node.gpu.parameters.all())
    if (name != "memory.permute") without.set(name, parameter);
  job.cluster.node.gpu.parameters = without;
  const auto model = CostModel::make(job);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().kind, base::ErrorKind::kInput);
  EXPECT_EQ(model.error().message,
            "GPU Round: parameter memory.permute is missing; give it, or name a catalog entry that "
            "has it");
}

TEST(CostModel, FabricParametersAreNeededBeyondOneDomain) {
  spec::Job job = round_bench();
  job.gpus = 16;
  const auto model = CostModel::make(job);
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().message,
            "fabric of bench: parameter collective.line_efficiency is missing; give it, or name a "
            "catalog entry that has it");
  job.gpus = 1;
  job.cluster.node.parameters = {};
  EXPECT_TRUE(CostModel::make(job).has_value());  // one GPU talks to nobody
}

TEST(CostModel, AGpuRefusesPrecisionsItLacks) {
  spec::Job job = round_bench();
  job.training.precision = spec::Precision::kFp8;
  ASSERT_FALSE(CostModel::make(job).has_value());
  EXPECT_EQ(CostModel::make(job).error().message,
            "precision = fp8: Round has no FP8 matrix peak; use bf16 or fp16");
  spec::Job volta = job_on("dgx1-v100", 8);
  volta.training.precision = spec::Precision::kBf16;
  EXPECT_FALSE(CostModel::make(volta).has_value());
  volta.training.precision = spec::Precision::kFp16;
  EXPECT_TRUE(CostModel::make(volta).has_value());
}

TEST(CostModel, EveryNodeOfTheCatalogHasWhatItNeeds) {
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind != spec::CatalogKind::kNode && entry.kind != spec::CatalogKind::kCluster)
      continue;
    spec::Job job = job_on(entry.name, 1);
    job.gpus = 4 * std::max<int64_t>(job.cluster.domain_gpus, 1);
    job.training.precision = spec::Precision::kFp16;
    const auto model = CostModel::make(job);
    EXPECT_TRUE(model.has_value()) << entry.name << ": " << base::error_of(model);
  }
}

TEST(Overlap, GemmsLoseWholeWavesOnly) {
  const CostModel model = model_of(round_bench());
  const workload::Operator collective = collective_operator(CollectiveKind::kAllReduce, 1e9);
  // 80 tiles of 256 x 128 fit on the 80 SMs that are left; 100 tiles need a second wave there:
  // twice the time.
  spec::Job job = round_bench();
  job.cluster.node.gpu.parameters.set("gemm.tile_step", {0.1, "", "", {}});
  const CostModel rigid = model_of(job);
  EXPECT_DOUBLE_EQ(rigid.compute_slowdown(gemm_operator(2048, 1280, 1000), collective), 1);
  EXPECT_DOUBLE_EQ(rigid.compute_slowdown(gemm_operator(2560, 1280, 1000), collective), 2);
  // Smaller tiles without loss bring that down: 800 of 64 x 64 on 80 SMs take 10 waves instead of
  // 8.
  EXPECT_NEAR(model.compute_slowdown(gemm_operator(2560, 1280, 1000), collective), 1.25, 1e-12);
}

TEST(Overlap, OthersLoseTheirShare) {
  const CostModel model = model_of(round_bench());
  workload::Operator collective = collective_operator(CollectiveKind::kAllReduce, 1e9);
  workload::Operator norm;
  norm.bytes = 1e9;
  EXPECT_DOUBLE_EQ(model.compute_slowdown(norm, collective), 2);  // half the bandwidth is taken
  workload::Operator core;
  core.kind = OperatorKind::kAttention;
  core.attention = {1, 8, 8, 4096, 4096, 128, 128, true, false, true};
  core.flops = 1e12;
  EXPECT_DOUBLE_EQ(model.compute_slowdown(core, collective), 1.25);
  EXPECT_DOUBLE_EQ(model.collective_slowdown(collective, core), 1.1);
  collective.collective = CollectiveKind::kSendRecv;
  EXPECT_DOUBLE_EQ(model.compute_slowdown(core, collective), 100.0 / 96);
  EXPECT_EQ(model.compute_slowdown(collective, collective), 1);
  EXPECT_EQ(model.collective_slowdown(core, norm), 1);
}

TEST(Overlap, ANetworkPacedCollectiveTakesLessBandwidth) {
  // 8 NICs of 25 GB/s at 0.96 against 365 GB/s inside: 0.0658 of the 0.33 share of HBM. Those of
  // 50 GB/s carry more than a node's GPUs pass on to each other, 365 GB/s: an eighth, no more.
  spec::Job job = job_on("hgx-h100", 64);
  job.parallelism.tp = 8;
  job.parallelism.dp = 8;
  job.cluster.fabric.parameters.set("collective.line_efficiency", {0.96, "", "here", {}});
  workload::Operator norm;
  norm.bytes = 1e9;
  workload::Operator collective = collective_operator(CollectiveKind::kReduceScatter, 1e9);
  collective.group = GroupKind::kTensor;
  EXPECT_NEAR(model_of(job).compute_slowdown(norm, collective), 1 / (1 - 0.33), 1e-9);
  collective.group = GroupKind::kData;
  EXPECT_NEAR(model_of(job).compute_slowdown(norm, collective), 1 / (1 - 0.33 / 8), 1e-9);
  for (spec::Nic& nic : job.cluster.node.nics) nic.bytes_per_s = 25e9;
  EXPECT_NEAR(model_of(job).compute_slowdown(norm, collective), 1 / (1 - 0.33 * 24 / 365), 1e-9);
}

TEST(CostTable, PricesEveryOperatorOfEveryRole) {
  const spec::Job job = round_bench();
  const CostModel model = model_of(job);
  plan::Plan plan;
  plan.operators = {gemm_operator(2560, 1280, 1000),
                    collective_operator(CollectiveKind::kAllReduce, 1e9)};
  plan.roles.resize(2);
  plan.placements = {{{}, inside(8)}, {{}, inside(4)}};
  const CostTable table = price_plan(model, plan, job);
  ASSERT_EQ(table.prices.size(), 2u);
  ASSERT_EQ(table.prices[1].size(), 2u);
  EXPECT_EQ(table.launch_s, 10e-6);
  EXPECT_EQ(table.reference_clock_hz, 1e9);
  EXPECT_DOUBLE_EQ(table.prices[0][0].clocked_s, 65.536e-6);
  EXPECT_GT(table.prices[0][1].fixed_s, table.prices[1][1].fixed_s);
}

}  // namespace
}  // namespace ergometer::cost
