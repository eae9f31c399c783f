#include "calibration/left_out.h"

#include <gtest/gtest.h>

#include "spec/resolve/test_jobs.h"

namespace ergometer::calibration {
namespace {

Sample sample(const char* source, const char* group, const char* gpus) {
  Sample result;
  result.job = spec::test::job_of({{"model", "llama3-8b"},
                                   {"cluster", "h100-superpod"},
                                   {"gpus", gpus},
                                   {"micro_batch_size", "1"},
                                   {"global_batch_size", "32"},
                                   {"zero", "1"}});
  result.source = source;
  result.group = group;
  return result;
}

ParameterList list() {
  const auto parsed = parse_parameter_list(
      "noise: 0.06\nfreedom: 4\nrows_per_group: 60\n"
      "parameters:\n"
      "  - {name: gemm.efficiency, of: {kernels/hopper: 0.7}, sigma: 0.1, min: 0.5, max: 1, "
      "source: s}\n"
      "settled:\n"
      "  - {name: gemm.efficiency, of: {kernels/hopper: 0.6}, seen_in: [lab], source: s}\n",
      "c.yaml");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : ParameterList{};
}

TEST(LeftOut, EvidenceIsOfTheOtherSources) {
  const std::vector<Sample> samples = {sample("lab", "a", "16"), sample("lab", "b", "32"),
                                       sample("vendor", "c", "16")};
  const auto all = evidence_without(samples, "");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().groups, 3);
  EXPECT_EQ(all.front().most_gpus, 32);
  const auto others = evidence_without(samples, "lab");
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others.front().groups, 1);
  EXPECT_EQ(others.front().most_gpus, 16);
}

TEST(LeftOut, PredictsTheSourceAlone) {
  const std::vector<Sample> samples = {sample("a lab", "a", "16"), sample("vendor", "c", "16")};
  const std::vector<double> x = {0};
  const auto lab = predict_without(samples, list(), x, "a lab", 1, {});
  const auto vendor = predict_without(samples, list(), x, "vendor", 1, {});
  ASSERT_TRUE(lab[0] && vendor[1]);
  EXPECT_FALSE(lab[1] || vendor[0]);
  EXPECT_LT(lab[0]->low_s, lab[0]->predicted_s);
  EXPECT_GT(lab[0]->high_s, lab[0]->predicted_s);
}

TEST(LeftOut, TakesWhatWasSettledOnTheSourceWithIt) {
  const std::vector<Sample> samples = {sample("a lab", "a", "16"), sample("vendor", "c", "16")};
  const std::vector<double> x = {0};
  const auto lab = predict_without(samples, list(), x, "a lab", 1, {});
  const auto vendor = predict_without(samples, list(), x, "vendor", 1, {});
  // The same job with GEMMs at 0.6 instead of 0.7 of the peak.
  ASSERT_TRUE(lab[0] && vendor[1]);
  EXPECT_GT(lab[0]->predicted_s, 1.05 * vendor[1]->predicted_s);
  EXPECT_LT(lab[0]->predicted_s, 0.7 / 0.6 * vendor[1]->predicted_s);
}

TEST(LeftOut, IntervalsKnowNothingOfTheSource) {
  const std::vector<Sample> seen = {sample("lab", "a", "16"), sample("vendor", "c", "16")};
  const std::vector<Sample> alone = {sample("lab", "a", "16")};
  const std::vector<double> x = {0};
  const auto known = predict_without(seen, list(), x, "lab", 1, {});
  const auto unknown = predict_without(alone, list(), x, "lab", 1, {});
  ASSERT_TRUE(known[0] && unknown[0]);
  EXPECT_GT(unknown[0]->high_s / unknown[0]->low_s, 1.1 * known[0]->high_s / known[0]->low_s);
}

}  // namespace
}  // namespace ergometer::calibration
