#include "calibration/parameter_list.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "calibration/sample.h"
#include "engine/prepared.h"
#include "engine/simulate.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::calibration {
namespace {

constexpr std::string_view kHead = "noise: 0.06\nfreedom: 4\nrows_per_group: 60\nparameters:\n";

std::string list_of(const std::string& items) { return std::string(kHead) + items; }

spec::Job job(const char* cluster, const char* gpus) {
  return spec::test::job_of({{"model", "llama3-8b"},
                             {"cluster", cluster},
                             {"gpus", gpus},
                             {"tensor_model_parallel_size", "2"},
                             {"micro_batch_size", "1"},
                             {"global_batch_size", "32"}});
}

TEST(ParameterList, BoundsAreThoseOfEveryTarget) {
  const auto list = parse_parameter_list(
      list_of("  - {name: gemm.wgrad, of: {kernels/ampere: 0.9, kernels/hopper: 0.8}, sigma: 0.1, "
              "min: 0.6, max: 1, source: s}\n"),
      "c.yaml");
  ASSERT_TRUE(list) << list.error().message;
  const FittedParameter& parameter = list->parameters.front();
  EXPECT_EQ(parameter.title(), "kernels/ampere, kernels/hopper gemm.wgrad");
  // 0.9 may fall to 0.6 and rise to 1, 0.8 the same: the narrower of both.
  EXPECT_DOUBLE_EQ(parameter.lower, std::log(0.6 / 0.8));
  EXPECT_DOUBLE_EQ(parameter.upper, std::log(1 / 0.9));
}

TEST(ParameterList, RefusesWhatTheCatalogLacks) {
  const auto refusal = [](const char* items) {
    const auto list = parse_parameter_list(list_of(items), "c.yaml");
    return list ? std::string("accepted") : list.error().message;
  };
  EXPECT_NE(refusal("  - {name: gemm.wgrad, of: {kernels/hoper: 1}, sigma: 0.1, min: 0.6, max: 1, "
                    "source: s}\n")
                .find("kernels/hoper: is not a file of the catalog"),
            std::string::npos);
  EXPECT_NE(refusal("  - {name: gemm.wgrda, of: {kernels/hopper: 1}, sigma: 0.1, min: 0.6, max: 1, "
                    "source: s}\n")
                .find("catalog/kernels/hopper.yaml has no parameter gemm.wgrda"),
            std::string::npos);
  EXPECT_NE(refusal("  - {name: gemm.wgrad, of: {kernels/hopper: 0.5}, sigma: 0.1, min: 0.6, max: "
                    "1, source: s}\n")
                .find("the prior 0.5 of kernels/hopper is not between min and max"),
            std::string::npos);
}

TEST(ParameterList, FindsAndChangesWhatAJobReads) {
  const auto list = parse_parameter_list(
      list_of("  - {name: gemm.efficiency, of: {kernels/ampere: 0.7}, sigma: 0.1, min: 0.5, max: "
              "1, source: s}\n"
              "  - {name: gemm.efficiency, of: {kernels/hopper: 0.7}, sigma: 0.1, min: 0.5, max: "
              "1, source: s}\n"
              "  - {name: sustained_clock, of: {gpus/h100-sxm5-80gb: 1.6 GHz}, sigma: 0.1, min: 1 "
              "GHz, max: 2 GHz, source: s}\n"
              "  - {name: line_efficiency, of: {collectives/ib-400g: 0.9}, sigma: 0.1, min: 0.5, "
              "max: 1, source: s}\n"),
      "c.yaml");
  ASSERT_TRUE(list) << list.error().message;
  spec::Job small = job("h100-superpod", "8");
  EXPECT_EQ(parameters_used(*list, small), (std::vector<size_t>{1, 2}));
  const spec::Job large = job("h100-superpod", "16");
  EXPECT_EQ(parameters_used(*list, large), (std::vector<size_t>{1, 2, 3}));

  const std::vector<double> x = {0, std::log(1.1), 0, 0};
  const std::vector<size_t> used = {1, 2};
  const engine::Prepared prepared(small);
  const double before_s = *prepared.step_time_s(small);
  apply(*list, x, used, small);
  EXPECT_NEAR(small.cluster.node.gpu.parameters.at("gemm.efficiency"), 0.77, 1e-12);
  EXPECT_DOUBLE_EQ(small.cluster.node.gpu.sustained_clock_hz, 1.6e9);
  // What was prepared before is priced with what stands in the job now.
  const double after_s = *prepared.step_time_s(small);
  EXPECT_NE(before_s, after_s);
  EXPECT_NEAR(after_s, engine::simulate(small, {})->performance.step_time_s, 0.005 * after_s);
}

TEST(ParameterList, ReplacesWhatWasSettledOnASource) {
  const auto list = parse_parameter_list(
      list_of("  - {name: gemm.efficiency, of: {kernels/ampere: 0.7, kernels/hopper: 0.8}, sigma: "
              "0.1, min: 0.5, max: 1, source: s}\n"
              "settled:\n"
              "  - {name: gemm.efficiency, of: {kernels/hopper: 0.6}, seen_in: [one node, Lab], "
              "source: s}\n"
              "  - {name: gemm.odd, of: {kernels/ampere: 1}, seen_in: [Lab], source: s}\n"),
      "c.yaml");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(without_source(*list, "Laboratory of another").parameters.size(), 2U);
  EXPECT_EQ(without_source(*list, "a vendor").parameters.size(), 1U);
  const ParameterList without = without_source(*list, "the table, one node");
  ASSERT_EQ(without.parameters.size(), 1U);
  EXPECT_DOUBLE_EQ(without.parameters[0].targets[0].prior, 0.7);
  EXPECT_DOUBLE_EQ(without.parameters[0].targets[1].prior, 0.6);
}

TEST(ParameterList, SetsWhatNothingFits) {
  const auto list = parse_parameter_list(
      list_of("  - {name: line_efficiency, of: {collectives/ib-400g: 0.9}, sigma: 0.1, min: 0.5, "
              "max: 1, source: s}\n"
              "settled:\n"
              "  - {name: gemm.wgrad, of: {kernels/hopper: 0.5}, seen_in: [Lab], source: s}\n"),
      "c.yaml");
  ASSERT_TRUE(list) << list.error().message;
  const ParameterList without = without_source(*list, "Lab");
  spec::Job changed = job("h100-superpod", "8");
  const std::vector<double> x = {0, 0};
  apply(without, x, parameters_used(without, changed), changed);
  EXPECT_DOUBLE_EQ(changed.cluster.node.gpu.parameters.at("gemm.wgrad"), 0.5);
}

TEST(ParameterList, OnlyNamedParametersStandInPlans) {
  // Priced with a parameter moved, on the plan from before: what a new plan gives, or it is named.
  for (const char* cluster : {"h100-superpod", "gb200-superpod"}) {
    const spec::Job before = job(cluster, "16");
    const engine::Prepared prepared(before);
    for (const spec::ParameterInfo& info : spec::parameter_table()) {
      if (info.owner != spec::ParameterOwner::kSoftware ||
          !before.software.parameters.has(info.name))
        continue;
      spec::Job after = before;
      base::Parameter changed = *before.software.parameters.find(info.name);
      changed.value *= 1.5;
      after.software.parameters.set(std::string(info.name), changed);
      const bool in_plan =
          *prepared.step_time_s(after) != *engine::Prepared(after).step_time_s(after);
      const FittedParameter parameter{std::string(info.name), {{info.owner, "", "", 1}}, 1, 0, 0};
      EXPECT_LE(in_plan, stands_in_plan(parameter)) << info.name;
    }
  }
}

}  // namespace
}  // namespace ergometer::calibration
