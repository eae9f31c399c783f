#include "validation/rows/power_row.h"

#include <gtest/gtest.h>

#include "base/test_support.h"

namespace ergometer::validation {
namespace {

constexpr const char* kColumns =
    "id,device,system,workload,config,metric,value,unit,year,source,where,notes\n";

MeasuredRun power_row(const std::string& cells, bool noted = false) {
  const auto rows = parse_measured_runs(kColumns + cells + (noted ? "" : ",") + "\n", "p.csv");
  EXPECT_TRUE(rows) << rows.error().message;
  return rows->front();
}

std::vector<MeasuredRun> published_runs() {
  return base::value_of(
      read_measured_runs(ERGOMETER_SOURCE_DIR "/tests/validation/truth/training_runs.csv"));
}

TEST(PowerRow, SingleNodeOfLoraTakesItsSubmissionsLayout) {
  const auto found = power_job(
      power_row("pw-0001,H100-SXM5-80GB,1xSMC-H100-SXM-80GB,Llama 2 70B LoRA,1 nodes x 8 GPU,"
                "mean node power over run_start..run_stop,7144.5,W/node (node AC),2024,"
                "MLPerf Training v4.0 power logs,github mlcommons/training_results_v4.0 "
                "smc-ac-power/results/1xSMC-H100-SXM-80GB/llama2_70b_lora/power/result_4951_1,"
                "mean over nodes; run 1694.5 s incl. evaluation",
                true),
      published_runs());
  ASSERT_TRUE(found) << found.error().message;
  const spec::Job& job = found->run.job;
  EXPECT_EQ(found->scope, PowerScope::kNodeAc);
  EXPECT_EQ(found->statistic, PowerStatistic::kMean);
  EXPECT_EQ(found->watts, 7144.5);
  EXPECT_EQ(found->run_s, 1694.5);
  EXPECT_EQ(found->from, "mlperf-4.0-038");  // smc's run on the same system, without power
  EXPECT_EQ(job.cluster.name, "hgx-h100");
  EXPECT_EQ(job.gpus, 8);
  // As the log of the run states.
  EXPECT_EQ(job.parallelism.tp, 4);
  EXPECT_EQ(job.parallelism.cp, 1);
  EXPECT_EQ(job.parallelism.pp, 1);
  EXPECT_EQ(job.training.micro_batch, 1);
  EXPECT_EQ(job.training.global_batch, 8);
  EXPECT_EQ(job.training.seq_length, 8192);
  EXPECT_EQ(job.training.precision, spec::Precision::kFp8);
}

TEST(PowerRow, SixtyFourNodesAreFiveHundredTwelveGpus) {
  const auto found = power_job(
      power_row("pw-0042,H100-SXM5-80GB,64xSMC-H100-SXM-80GB,Llama 2 70B LoRA,64 nodes x 8 GPU,"
                "max single-sample node power in run,7016.0,W/node (node DC),2024,"
                "MLPerf Training v4.0 power logs,github mlcommons/training_results_v4.0 "
                "smc-dc-power/results/64xSMC-H100-SXM-80GB/llama2_70b_lora/power/result_5730_3"),
      published_runs());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->scope, PowerScope::kNodeDc);
  EXPECT_EQ(found->statistic, PowerStatistic::kMax);
  EXPECT_EQ(found->run_s, 0);
  EXPECT_EQ(found->run.job.gpus, 512);
  // No run of the round on as many H100: the layout is that of 8 nodes, 512 / (4 x 2) replicas of
  // one sequence.
  EXPECT_EQ(found->run.job.parallelism.tp, 4);
  EXPECT_EQ(found->run.job.parallelism.cp, 2);
  EXPECT_EQ(found->run.job.parallelism.dp, 64);
  EXPECT_EQ(found->run.job.training.global_batch, 64);
}

TEST(PowerRow, GpuOfAFourGpuNode) {
  const auto found = power_job(
      power_row("pw-0223,H100,4-GPU nodes (per-GPU figures),LLaMA2-LoRA (2node),LLaMA2-LoRA "
                "(2node),per-GPU power Mean,658.48,W/GPU,2026,Vercellino et al. 2026,"),
      published_runs());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->scope, PowerScope::kGpu);
  EXPECT_EQ(found->run.job.gpus, 8);
  EXPECT_EQ(found->run.job.training.lora_rank, 16);
  EXPECT_EQ(found->run.fills.front().value, "Llama 2 70B");
}

std::string error_of(const std::string& cells) {
  return base::error_of(power_job(power_row(cells), published_runs()));
}

TEST(PowerRow, SaysWhyARowIsNoJob) {
  EXPECT_EQ(error_of("1,V100,,sgemm (case01),1 GPU,SM clock (median over kernels),1380,MHz,2022,"
                     "GPU power variability study,"),
            "metric: found \"SM clock (median over kernels)\" in MHz; allowed: a mean or maximum "
            "of power in W/node or W/GPU");
  EXPECT_EQ(error_of("1,H100,4-GPU nodes,StableDiff (2node),StableDiff (2node),per-GPU power Mean,"
                     "657,W/GPU,2026,Vercellino et al. 2026,"),
            "workload: found \"StableDiff (2node)\"; allowed: a training run of a language model "
            "whose model and batch are known");
  EXPECT_EQ(error_of("1,H100,,GPT/LLM training run (exact model and batch not stated),8 GPUs,"
                     "per-GPU power draw: mean,527,W/GPU,2025,training_profile,"),
            "workload: found \"GPT/LLM training run (exact model and batch not stated)\"; a "
            "prediction needs the model and its batch");
  EXPECT_EQ(error_of("1,B200,SR780aV3,bert,1 nodes x 8 GPU,mean node power over "
                     "run_start..run_stop,9754.9,W/node (node),2025,MLPerf Training v5.0 power "
                     "logs,github m Lenovo/results/SR780aV3/bert/power/result_0"),
            "no run of bert on 8 B200 in MLPerf v5.0 tells the batch");
  EXPECT_EQ(error_of("1,H100-SXM5-80GB,,Llama 2 70B LoRA,one node,mean node power,7144.5,W/node "
                     "(node AC),2024,MLPerf Training v4.0 power logs,"),
            "config: says no number of GPUs; allowed: \"8 nodes x 8 GPU\"");
}

// The logs of tests/data/mlperf-power state their settings: the job made of a row has them.
TEST(PowerRow, ReducedLogsAreJobs) {
  const auto runs = read_measured_runs(ERGOMETER_SOURCE_DIR "/tests/data/mlperf-power/runs.csv");
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->size(), 3u);
  const int64_t tp[] = {4, 4, 1}, cp[] = {1, 2, 1}, gpus[] = {8, 64, 8};
  for (size_t i = 0; i < 3; ++i) {
    const auto made = make_job((*runs)[i]);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->job.gpus, gpus[i]);
    EXPECT_EQ(made->job.parallelism.tp, tp[i]);
    EXPECT_EQ(made->job.parallelism.cp, cp[i]);
    EXPECT_EQ(made->job.training.global_batch, 8);
    EXPECT_EQ(made->job.training.lora_rank, 16);
    EXPECT_EQ(made->job.training.precision, spec::Precision::kFp8);
  }
}

}  // namespace
}  // namespace ergometer::validation
