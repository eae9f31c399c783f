#include "report/explain/explain_price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/plan.h"
#include "report/explain/explain.h"
#include "spec/resolve/test_jobs.h"
#include "workload/operator.h"

// A printed formula with the printed inputs gives the printed number: each is worked out again from
// the tree alone.

namespace ergometer::report {
namespace {

using spec::test::job_of;

spec::Job mixture() {
  return job_of({{"model", "qwen3-30b-a3b"},
                 {"cluster", "hgx-h100"},
                 {"gpus", "16"},
                 {"tensor_model_parallel_size", "2"},
                 {"expert_model_parallel_size", "4"},
                 {"expert_tensor_parallel_size", "1"},
                 {"micro_batch_size", "1"},
                 {"global_batch_size", "16"}});
}

/// The first of an operator's passes: the one that is told with its parameters.
Explanation first_of(const spec::Job& job, const std::string& name) {
  const Explanation all = explain_operator(job, name).value();
  return all.inputs.front();
}

struct Inputs {
  const Explanation& node;
  double operator()(std::string_view name) const {
    for (const Explanation& input : node.inputs)
      if (input.name == name && input.number) return *input.number;
    ADD_FAILURE() << node.name << " has no input " << name;
    return 0;
  }
  double peak() const {
    return (*this)("peak_bf16") * (*this)("sustained_clock") / (*this)("boost_clock");
  }
  double memory_s(const char* share) const {
    return (*this)("bytes") / ((*this)(share) * (*this)("memory_bandwidth"));
  }
};

/// `seconds` is what the kernel takes by itself.
void expect_price(const Explanation& node, double seconds) {
  ASSERT_TRUE(node.number);
  for (const Explanation& input : node.inputs)
    if (input.name == "software") seconds *= *input.number;
  for (const Explanation& input : node.inputs)
    if (input.name == "p2p.fixed") seconds += *input.number;
  EXPECT_NEAR(*node.number, seconds, 1e-9 * seconds) << node.formula;
}

TEST(ExplainPrice, Gemm) {
  for (const char* name : {"qkv", "qkv_wgrad"}) {
    const Explanation node = first_of(mixture(), name);
    const Inputs in{node};
    const bool weights = std::string_view(name) == "qkv_wgrad";
    EXPECT_EQ(node.formula.find("x gemm.wgrad") != std::string::npos, weights) << node.formula;
    // As the explanation of `tiles` says, exponents are multiples of 1/1024.
    const double exponent = std::round(in("gemm.quantization") * 1024) / 1024;
    const double rate = in.peak() * in("gemm.efficiency") * std::pow(in("tiles"), exponent) *
                        in("k") / (in("k") + in("gemm.k_ramp")) * (weights ? in("gemm.wgrad") : 1);
    const double compute_s = 2 * in("groups") * in("m") * in("n") * in("k") / rate;
    expect_price(node, in("gemm.fixed") + in("kernels") * in("kernel.latency") +
                           std::max(compute_s, in.memory_s("gemm.memory_efficiency")));
  }
}

TEST(ExplainPrice, GroupedGemm) {
  const spec::Job job = mixture();
  for (const char* name : {"expert_fc1", "expert_fc1_dgrad", "expert_fc1_wgrad"}) {
    const Explanation node = first_of(job, name);
    const Inputs in{node};
    const bool weights = std::string_view(name).ends_with("wgrad");
    const double rows = weights ? in("k") : in("m"), depth = weights ? in("n") : in("k");
    const double pass = weights                                     ? in("grouped.wgrad")
                        : std::string_view(name).ends_with("dgrad") ? in("grouped.dgrad")
                                                                    : 1;
    const double rate = in.peak() * in("grouped.efficiency") * pass * rows /
                        (rows + in("grouped.m_ramp")) * depth / (depth + in("grouped.k_ramp"));
    const double compute_s = 2 * in("groups") * in("m") * in("n") * in("k") / rate;
    expect_price(node, in("kernels") * in("kernel.latency") +
                           std::max(compute_s, in.memory_s("gemm.memory_efficiency")));
  }
}

TEST(ExplainPrice, Attention) {
  for (const bool backward : {false, true}) {
    const Explanation node =
        first_of(mixture(), backward ? "core_attention_backward" : "core_attention");
    const Inputs in{node};
    const double rate =
        in.peak() * in(backward ? "attention.backward" : "attention.forward") * in("width") *
        in("keys") / (in("keys") + in("attention.length_ramp")) * in("tiles") /
        (in("tiles") +
         in(backward ? "attention.backward_tile_ramp" : "attention.tile_ramp") * in("SMs"));
    EXPECT_EQ(in("tiles"), in("batch") * in("heads") * in("q_length") / 128);
    expect_price(node, in("attention.fixed") + in("kernels") * in("kernel.latency") +
                           std::max(in("FLOP") / rate, in.memory_s("memory.efficiency")));
  }
}

TEST(ExplainPrice, MemoryBoundKernelsByTheirOwnShareOfTheBandwidth) {
  const spec::Job job = mixture();
  for (const auto& [name, share] : {std::pair("input_norm", "memory.efficiency"),
                                    {"permute", "memory.permute"},
                                    {"cross_entropy", "memory.cross_entropy"}}) {
    const Explanation node = first_of(job, name);
    const Inputs in{node};
    expect_price(node,
                 in("kernels") * (in("memory.ramp") + in("kernel.latency")) + in.memory_s(share));
  }
}

TEST(ExplainPrice, KernelsThatTheSmsBind) {
  const spec::Job job =
      job_of({{"model", "llama3.2-1b"}, {"cluster", "hgx-h200"}, {"software", "transformers"}});
  const Explanation node = first_of(job, "input_norm");
  const Inputs in{node};
  expect_price(
      node, in("kernels") * (in("memory.ramp") + in("kernel.latency")) +
                (in("bytes") - in("issued")) / (in("memory.efficiency") * in("memory_bandwidth")) +
                in("issued") / (in("memory.issue") * in("SMs")));
}

TEST(ExplainPrice, GatherInANode) {
  const Explanation node = first_of(mixture(), "tp_all_gather");
  const Inputs in{node};
  EXPECT_NE(node.formula.find("high-bandwidth"), std::string::npos) << node.formula;
  const double latency_s =
      in("collective.ring_base") + (in("ranks") - 1) * in("collective.domain_hop_latency") +
      in("collective.ramp") / 2 * in("buffer") / (in("buffer") + in("collective.ramp_half_size"));
  EXPECT_NEAR(in("latency"), latency_s, 1e-12);
  EXPECT_NEAR(in("bandwidth"), in("collective.ring_bandwidth"), 1);
  const double transfer_s = (in("ranks") - 1) / in("ranks") * in("buffer") / in("bandwidth");
  expect_price(node, in("kernel.latency") + latency_s + transfer_s);
}

TEST(ExplainPrice, EveryCollectiveIsItsLatencyAndItsTransfer) {
  const spec::Job job = mixture();
  const plan::Plan plan = plan::make_plan(job, workload::lower(job));
  int told = 0;
  for (const workload::Operator& op : plan.operators) {
    if (op.kind != workload::OperatorKind::kCollective) continue;
    const Explanation node = first_of(job, op.name);
    const Inputs in{node};
    if (in("ranks") <= 1) continue;
    expect_price(node, in("kernel.latency") + in("latency") + in("transfer"));
    ++told;
  }
  EXPECT_GT(told, 3);
}

// No kernel runs while circuits are made: nothing of the GPU enters, or bounds it.
TEST(ExplainPrice, AWaitIsAWait) {
  const spec::Job job =
      job_of({{"model", "llama3-8b"},
              {"cluster",
               "{extends: hgx-h100, fabric: {kind: optical, collectives: ib-400g, degree: 4, "
               "link_bandwidth: 800 Gb/s, reconfigure: phase, reconfiguration_time: 10 ms}}"},
              {"gpus", "64"},
              {"tensor_model_parallel_size", "8"},
              {"pipeline_model_parallel_size", "2"},
              {"global_batch_size", "64"}});
  const Explanation node = first_of(job, "circuit_reconfiguration");
  EXPECT_DOUBLE_EQ(*node.number, 0.01);
  EXPECT_TRUE(node.source.empty()) << node.source;
  EXPECT_EQ(node.text.find("bound"), std::string::npos) << node.text;
  for (const Explanation& input : node.inputs)
    EXPECT_EQ(input.name, "circuits.reconfiguration_time");
}

TEST(ExplainPrice, DecodingCountsBytesOnly) {
  const Explanation node = first_of(
      job_of({{"model", "llama3-8b"}, {"cluster", "hgx-h100"}, {"gpus", "1"}, {"mode", "decode"}}),
      "core_attention");
  const Inputs in{node};
  expect_price(node, in("memory.ramp") + in("kernels") * in("kernel.latency") +
                         in.memory_s("memory.efficiency"));
}

}  // namespace
}  // namespace ergometer::report
