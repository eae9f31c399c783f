#include "compare/counterfactual.h"
#include "base/test_support.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compare/test_jobs.h"

namespace ergometer::compare {
namespace {

using test::pair_of;
using test::small;
using test::Values;

Comparison compare(const spec::Settings& a, const spec::Settings& b, int64_t most = 1024) {
  return base::value_of(compare_jobs(pair_of(a, b), {.threads = 2, .most_simulations = most}));
}

const Cause* find(const Comparison& comparison, const std::string& id) {
  for (const Cause& cause : comparison.causes)
    if (cause.id == id) return &cause;
  return nullptr;
}

/// Causes sum to the difference, of every quantity and every part, to 1e-9 of its size.
void expect_whole(const Comparison& comparison) {
  for (const Quantity& quantity : comparison.quantities) {
    double sum = 0;
    for (const Cause& cause : comparison.causes) sum += cause.amount.at(quantity.name);
    const double size = std::max(std::abs(quantity.a), std::abs(quantity.b));
    EXPECT_NEAR(sum, quantity.difference(), 1e-9 * size) << quantity.name;
    EXPECT_NEAR(comparison.residual.at(quantity.name), 0, 1e-9 * size) << quantity.name;
  }
  for (const Cause& cause : comparison.causes) {
    double parts = 0;
    for (const auto& [name, seconds] : cause.parts) parts += seconds;
    EXPECT_NEAR(parts, cause.amount.at("step_time_s"), 1e-9 * comparison.quantities[0].a)
        << cause.id;
  }
}

/// Bit for bit.
void expect_mirrored(const Comparison& there, const Comparison& back) {
  ASSERT_EQ(there.causes.size(), back.causes.size());
  for (const Cause& cause : there.causes) {
    const Cause* other = find(back, cause.id);
    ASSERT_NE(other, nullptr) << cause.id;
    for (const auto& [name, value] : cause.amount) EXPECT_EQ(value, -other->amount.at(name));
    for (const auto& [name, value] : cause.parts) EXPECT_EQ(value, -other->parts.at(name));
  }
}

TEST(CompareJobs, WhatDiffersAloneGetsAll) {
  for (const Values& change : {Values{{"recompute", "full"}}, Values{{"tp", "4"}},
                               Values{{"gpus", "32"}}, Values{{"overlap_grad_reduce", "true"}},
                               Values{{"power_cap", "450W"}}, Values{{"mbs", "2"}}}) {
    const Comparison result = compare(small(), small(change));
    ASSERT_EQ(result.causes.size(), 1u) << change[0].first;
    EXPECT_EQ(result.causes[0].amount.at("step_time_s"), result.quantities[0].difference());
    EXPECT_NE(result.quantities[0].difference(), 0) << change[0].first;
    expect_whole(result);
  }
}

TEST(CompareJobs, TwoCausesByHand) {
  // phi_1 = 1/2 (v(1) - v(0)) + 1/2 (v(12) - v(2)), each a simulation of its own.
  const spec::Settings a = small(), b = small({{"recompute", "full"}, {"tp", "4"}});
  const Comparison result = compare(a, b);
  const auto step = [&](const Values& change) { return compare(a, small(change)).quantities[0].b; };
  const double none = result.quantities[0].a, both = result.quantities[0].b;
  const double first = step({{"recompute", "full"}}), second = step({{"tp", "4"}});
  EXPECT_NEAR(find(result, "recomputation")->amount.at("step_time_s"),
              ((first - none) + (both - second)) / 2, 1e-12);
  EXPECT_NEAR(find(result, "tensor_parallelism")->amount.at("step_time_s"),
              ((second - none) + (both - first)) / 2, 1e-12);
}

TEST(CompareJobs, MachinesThatDifferInNothingButNameHaveNoCause) {
  const Comparison result = compare(small(), small());
  EXPECT_TRUE(result.causes.empty());
  EXPECT_EQ(result.quantities[0].difference(), 0);
}

TEST(CompareJobs, RandomPairsSumAndMirror) {
  const std::vector<Values> changes = {{{"recompute", "full"}},
                                       {{"cluster", "hgx-h200"}},
                                       {{"tp", "4"}, {"pp", "2"}},
                                       {{"overlap_grad_reduce", "true"}},
                                       {{"mbs", "2"}},
                                       {{"cluster", "dgx-a100"}},
                                       {{"gpus", "32"}},
                                       {{"zero", "0"}},
                                       {{"software", "megatron-core-24"}},
                                       {{"seed", "7"}}};
  uint64_t state = 20;
  const auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return changes[(state >> 33) % changes.size()];
  };
  for (int64_t i = 0; i < base::random_cases(12); ++i) {
    spec::Settings a = small(draw()), b = small(draw());
    b.merge(test::settings_of(draw()));
    const Comparison there = compare(a, b, 256), back = compare(b, a, 256);
    expect_whole(there);
    expect_mirrored(there, back);
  }
}

TEST(CompareJobs, WhatHasNoEffectGetsExactlyNothing) {
  // The capacity of memory changes what fits and not the time.
  const Comparison result = compare(small(), small({{"cluster", "hgx-h200"}}));
  const Cause* capacity = find(result, "memory_capacity");
  ASSERT_NE(capacity, nullptr);
  for (const auto& [name, value] : capacity->amount) EXPECT_EQ(value, 0) << name;
  EXPECT_LT(find(result, "memory_bandwidth")->amount.at("step_time_s"), 0);
}

TEST(CompareJobs, LayoutsWithoutLegalBetweenCountAsOneAndSayWhy) {
  const Comparison result =
      compare(small({{"tp", "8"}, {"pp", "2"}}), small({{"tp", "2"}, {"pp", "8"}}));
  ASSERT_EQ(result.causes.size(), 1u);
  EXPECT_EQ(result.causes[0].id, "tensor_parallelism+pipeline");
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes[0].find("there is no job with one of them changed"), std::string::npos);
  expect_whole(result);
}

TEST(CompareJobs, ManyCausesInGroupsStillSumAndMirror) {
  const spec::Settings a = small();
  const spec::Settings b = small({{"cluster", "hgx-h200"},
                                  {"recompute", "full"},
                                  {"mbs", "2"},
                                  {"tp", "4"},
                                  {"overlap_grad_reduce", "true"}});
  const Comparison there = compare(a, b, 40), back = compare(b, a, 40);
  expect_whole(there);
  expect_mirrored(there, back);
  EXPECT_LE(there.simulations, 42);
}

TEST(CompareJobs, SaysWhatDoesNotFit) {
  const Comparison result =
      compare(small(), small({{"model", "llama3-70b"}, {"num_layers", "80"}}));
  EXPECT_TRUE(result.verdict.starts_with("B does not fit in memory: ")) << result.verdict;
}

TEST(CompareJobs, MachinesThatCannotBeMixedAreMixedNoFurtherThanTheyCan) {
  const spec::Settings a = small({{"cluster", "gb200-nvl72"}, {"fp8", "true"}, {"gpus", "16"}});
  const spec::Settings b = small({{"cluster", "mi250"}, {"gpus", "16"}});
  const Comparison there = compare(a, b), back = compare(b, a);
  expect_whole(there);
  expect_mirrored(there, back);
  for (const Cause& cause : there.causes)
    for (const auto& [name, value] : cause.amount) EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(CompareJobs, SaysWhatMemoryForbids) {
  // A needs H200's memory, B gets by with recomputation on H100.
  const Values large = {{"num_layers", "32"}, {"mbs", "4"}, {"seq", "8192"}};
  spec::Settings a = small(large), b = small(large);
  a.merge(test::settings_of({{"cluster", "hgx-h200"}}));
  b.merge(test::settings_of({{"recompute", "full"}}));
  const Comparison result = compare(a, b);
  std::string all;
  for (const std::string& note : result.notes) all += note + '\n';
  EXPECT_NE(all.find("memory: A with B's memory capacity alone would not fit"), std::string::npos)
      << all;
  EXPECT_NE(all.find("memory: B with A's recomputation alone would not fit"), std::string::npos)
      << all;
}

}  // namespace
}  // namespace ergometer::compare
