#include "engine/prepared.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "engine/simulate.h"
#include "engine/time/test_job.h"

namespace ergometer::engine {
namespace {

using test::Values;

/// Clocks are those that the prices hold for.
spec::Job make_job(const Values& values) {
  spec::Job job = test::job_of(values);
  job.conditions.constant_clocks = true;
  return job;
}

/// The step that is played in part against the whole one.
void expect_close(const Values& values) {
  const spec::Job job = make_job(values);
  const auto whole = simulate(job, {});
  const auto part = estimate(job);
  ASSERT_TRUE(whole && part);
  const run::Performance &a = whole->performance, &b = part->performance;
  EXPECT_NEAR(b.step_time_s, a.step_time_s, 0.005 * a.step_time_s);
  EXPECT_NEAR(b.mfu, a.mfu, 0.005 * a.mfu);
  EXPECT_NEAR(b.breakdown_s.compute, a.breakdown_s.compute, 0.01 * a.step_time_s);
  EXPECT_NEAR(b.breakdown_s.idle, a.breakdown_s.idle, 0.01 * a.step_time_s);
  EXPECT_NEAR(b.step_time_s_high, a.step_time_s_high, 0.01 * a.step_time_s_high);
  EXPECT_DOUBLE_EQ(part->memory.peak_bytes, whole->memory.peak_bytes);
}

TEST(Prepared, ManyMicroBatchesOnOneStage) {
  expect_close({{"model", "llama3-8b"},
                {"cluster", "hgx-h100"},
                {"gpus", "8"},
                {"tp", "2"},
                {"global_batch_size", "400"},
                {"seq_length", "4096"},
                {"recompute", "full"}});
}

TEST(Prepared, ManyMicroBatchesOnAPipeline) {
  expect_close({{"model", "llama3-70b"},
                {"cluster", "hgx-h100"},
                {"gpus", "64"},
                {"tp", "4"},
                {"pp", "4"},
                {"global_batch_size", "516"},
                {"seq_length", "8192"}});
}

TEST(Prepared, InterleavedWithBatchesThatLeaveARest) {
  expect_close({{"model", "llama3-70b"},
                {"cluster", "hgx-h100"},
                {"gpus", "64"},
                {"tp", "4"},
                {"pp", "4"},
                {"vpp", "5"},
                {"global_batch_size", "256"},
                {"seq_length", "8192"},
                {"overlap_grad_reduce", "true"},
                {"overlap_param_gather", "true"}});
}

TEST(Prepared, ShardedParametersGatheredInEveryMicroBatch) {
  expect_close({{"model", "llama3-8b"},
                {"cluster", "hgx-h100"},
                {"gpus", "16"},
                {"fsdp", "true"},
                {"global_batch_size", "640"},
                {"seq_length", "2048"}});
}

TEST(Prepared, ExpertsOnAPipeline) {
  expect_close({{"model", "mixtral-8x7b"},
                {"cluster", "hgx-h100"},
                {"gpus", "64"},
                {"pp", "4"},
                {"ep", "8"},
                {"global_batch_size", "1024"},
                {"seq_length", "4096"}});
}

/// Context parallelism leaves a GPU less work than its host takes to launch it, but first the GPU
/// waits for parameters and its host gets ahead: the lead lasts for more micro batches than are
/// played.
void expect_late_hosts_known(int zero) {
  struct Layout {
    const char *cp, *pp, *vpp;
  };
  constexpr std::array kLayouts = {Layout{"4", "1", "1"}, Layout{"1", "1", "1"},
                                   Layout{"4", "2", "1"}, Layout{"2", "2", "2"}};
  for (const Layout& layout : kLayouts) {
    for (const char* batch : {"16", "48", "112"}) {
      Values values{{"model", "llama2-70b"},
                    {"cluster", "charllm-h200"},
                    {"gpus", "32"},
                    {"tp", "4"},
                    {"cp", layout.cp},
                    {"pp", layout.pp},
                    {"vpp", layout.vpp},
                    {"global_batch_size", batch},
                    {"seq_length", "2048"},
                    {"micro_batch_size", "1"},
                    {"recompute", "full"},
                    {"zero", std::to_string(zero)},
                    {"overlap_grad_reduce", "1"}};
      if (zero > 0) values.emplace_back("overlap_param_gather", "1");
      const spec::Job job = make_job(values);
      const auto whole = simulate(job, {});
      const auto part = Prepared(job).step_time_s(job);
      ASSERT_TRUE(whole && part);
      EXPECT_NEAR(*part / whole->performance.step_time_s, 1, 0.001)
          << "cp " << layout.cp << " pp " << layout.pp << " vpp " << layout.vpp << ", "
          << job.micro_batches() << " micro batches";
    }
  }
}
TEST(Prepared, LateHosts) { expect_late_hosts_known(0); }
TEST(Prepared, LateHostsWithShardedOptimizer) { expect_late_hosts_known(1); }
TEST(Prepared, LateHostsWithShardedGradients) { expect_late_hosts_known(2); }

TEST(Prepared, FewMicroBatchesAreTheStepItself) {
  const spec::Job job = make_job({{"model", "llama3-8b"},
                                  {"cluster", "hgx-h100"},
                                  {"gpus", "16"},
                                  {"pp", "4"},
                                  {"global_batch_size", "16"},
                                  {"seq_length", "4096"}});
  const auto whole = simulate(job, {});
  const auto part = Prepared(job).step_time_s(job);
  ASSERT_TRUE(whole && part);
  EXPECT_DOUBLE_EQ(*part, whole->performance.step_time_s);
}

}  // namespace
}  // namespace ergometer::engine
