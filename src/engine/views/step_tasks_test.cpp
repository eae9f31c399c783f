#include "engine/views/step_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/test_support.h"
#include "engine/simulate.h"
#include "engine/time/test_job.h"
#include "engine/views/kernel_window.h"

namespace ergometer::engine {
namespace {

using test::job_of;
using test::Values;
using Kind = run::PipelineTask::Kind;

/// Llama-3-8B: TP 2, PP 4, DP 2, 8 micro batches.
spec::Job pipeline_job(const Values& more = {}) {
  Values values = {{"model", "llama3-8b"},
                   {"cluster", "hgx-h100"},
                   {"gpus", "16"},
                   {"tensor_model_parallel_size", "2"},
                   {"pipeline_model_parallel_size", "4"},
                   {"micro_batch_size", "1"},
                   {"global_batch_size", "16"},
                   {"seq_length", "4096"},
                   {"clocks", "constant"}};
  values.insert(values.end(), more.begin(), more.end());
  return job_of(values);
}

run::Run simulated_run(const spec::Job& job, SimulateOptions options = {}) {
  options.task_ranks = {0, 4, 8, 12};
  return base::value_of(simulate(job, options));
}

std::map<Kind, int> counts(const run::RankTasks& rank) {
  std::map<Kind, int> counts;
  for (const run::PipelineTask& task : rank.tasks) ++counts[task.kind];
  return counts;
}

// Every micro batch goes forward and backward once on every stage; the ends of the pipeline have a
// neighbour on one side only.
TEST(StepTasks, EveryMicroBatchOnceOnEveryStage) {
  const run::Run run = simulated_run(pipeline_job());
  ASSERT_EQ(run.tasks.size(), 4u);
  for (const run::RankTasks& rank : run.tasks) {
    const bool end = rank.stage == 0 || rank.stage == 3;
    auto count = counts(rank);
    EXPECT_EQ(count[Kind::kForward], 8) << rank.stage;
    EXPECT_EQ(count[Kind::kBackward], 8);
    EXPECT_EQ(count[Kind::kSend], end ? 8 : 16);
    EXPECT_EQ(count[Kind::kReceive], end ? 8 : 16);
    EXPECT_GE(count[Kind::kOptimizer], 1);
  }
  EXPECT_TRUE(run.kernels.empty());
  EXPECT_EQ(run.slots.size(), 8u);
}

// Passes of one stream do not overlap, and what a stage does starts behind what it waits for.
TEST(StepTasks, OrderOfThePipeline) {
  const run::Run run = simulated_run(pipeline_job());
  std::map<std::pair<int64_t, Kind>, int64_t> start;
  for (const run::RankTasks& rank : run.tasks) {
    int64_t end_ns = 0;
    for (const run::PipelineTask& task : rank.tasks) {
      if (task.beside) continue;
      EXPECT_GE(task.start_ns, end_ns);
      end_ns = task.start_ns + task.duration_ns;
      if (task.micro_batch == 5) start[{rank.stage, task.kind}] = task.start_ns;
    }
    EXPECT_LE(end_ns, static_cast<int64_t>(run.performance.step_time_s * 1e9) + 1);
  }
  for (int64_t stage = 0; stage < 3; ++stage) {
    EXPECT_LT((start[{stage, Kind::kForward}]), (start[{stage + 1, Kind::kForward}]));
    EXPECT_GT((start[{stage, Kind::kBackward}]), (start[{stage + 1, Kind::kBackward}]));
  }
}

int64_t step_ns(const run::Run& run) { return std::llround(run.performance.step_time_s * 1e9); }

/// Nanoseconds of a rank's tasks by kind, without those beside others.
std::map<Kind, int64_t> times(const run::RankTasks& rank) {
  std::map<Kind, int64_t> times;
  for (const run::PipelineTask& task : rank.tasks)
    if (!task.beside) times[task.kind] += task.duration_ns;
  return times;
}

// Whatever the schedule, the sharding and what is overlapped: no nanosecond of a rank's step is
// without a task, and every wait says for whom.
TEST(StepTasks, TheStepHasNoHoles) {
  const std::vector<Values> jobs = {
      {},
      {{"zero_stage", "1"}, {"sequence_parallel", "true"}},
      {{"zero_stage", "1"}, {"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}},
      {{"schedule", "zb-h1"}},
      {{"schedule", "gpipe"}},
      {{"schedule", "interleaved"}, {"virtual_pipeline_model_parallel_size", "2"}},
      {{"pipeline_model_parallel_size", "1"}, {"fsdp", "true"}},
      {{"recompute_granularity", "full"}},
      {{"model", "gpt2-xl"}, {"seq_length", "1024"}, {"tensor_model_parallel_size", "1"}}};
  for (const Values& more : jobs) {
    const run::Run run = simulated_run(pipeline_job(more));
    ASSERT_EQ(run.tasks.size(), 4u);
    for (const run::RankTasks& rank : run.tasks) {
      int64_t now_ns = 0;
      for (const run::PipelineTask& task : rank.tasks) {
        if (task.beside) continue;
        EXPECT_EQ(task.start_ns, now_ns) << more.size() << ' ' << task.what;
        EXPECT_TRUE(task.kind != Kind::kWait || !task.what.empty());
        now_ns += task.duration_ns;
      }
      EXPECT_EQ(now_ns, step_ns(run)) << (more.empty() ? "" : more[0].second);
    }
  }
}

// Gradients are reduced, their norm is made, weights are updated and gathered: each by itself, and
// who is ready first waits for the others there, not in the optimizer.
TEST(StepTasks, TheEndOfTheStepIsSplit) {
  const run::Run run =
      simulated_run(pipeline_job({{"zero_stage", "1"}, {"sequence_parallel", "true"}}));
  for (const run::RankTasks& rank : run.tasks) {
    auto took = times(rank);
    EXPECT_GT(took[Kind::kGradientReduction], 0);
    EXPECT_GT(took[Kind::kGradientNorm], 0);
    EXPECT_GT(took[Kind::kParameterGather], 0);
    EXPECT_NEAR(
        static_cast<double>(took[Kind::kOptimizer] + took[Kind::kGradientNorm] + took[Kind::kHost]),
        run.performance.breakdown_s.optimizer * 1e9, 0.03 * static_cast<double>(step_ns(run)));
  }
  int64_t for_others_ns = 0;
  for (const run::PipelineTask& task : run.tasks[3].tasks)
    if (task.kind == Kind::kWait && task.what == "other stages") for_others_ns += task.duration_ns;
  // The last stage is done first: a forward and a backward of three stages are still to be run.
  EXPECT_GT(for_others_ns, step_ns(run) / 50);
}

TEST(StepTasks, WaitsSayForWhichStage) {
  const run::Run run = simulated_run(pipeline_job());
  const auto first_wait = [&](size_t rank) {
    const auto& tasks = run.tasks[rank].tasks;
    return std::find_if(tasks.begin(), tasks.end(),
                        [](const auto& task) { return task.kind == Kind::kWait; });
  };
  EXPECT_EQ(first_wait(3)->what, "stage 2");
  EXPECT_EQ(first_wait(2)->what, "stage 1");
  const auto& first = run.tasks[0].tasks;
  EXPECT_TRUE(std::any_of(first.begin(), first.end(), [](const auto& task) {
    return task.kind == Kind::kWait && task.what == "stage 1";
  }));
}

// With gradients reduced while the backward pass runs, that is beside it.
TEST(StepTasks, OverlappedCollectivesAreBeside) {
  const run::Run run =
      simulated_run(pipeline_job({{"zero_stage", "1"}, {"overlap_grad_reduce", "true"}}));
  const auto& tasks = run.tasks[0].tasks;
  EXPECT_TRUE(std::any_of(tasks.begin(), tasks.end(), [](const auto& task) {
    return task.kind == Kind::kGradientReduction && task.beside && task.duration_ns > 0;
  }));
}

TEST(StepTasks, TiedEmbeddingsAreReducedBetweenTheEnds) {
  const run::Run run = simulated_run(pipeline_job(
      {{"model", "gpt2-xl"}, {"seq_length", "1024"}, {"tensor_model_parallel_size", "1"}}));
  for (const size_t rank : {size_t{0}, size_t{3}})
    EXPECT_EQ(counts(run.tasks[rank])[Kind::kEmbeddingReduction], 1) << rank;
  EXPECT_EQ(counts(run.tasks[1])[Kind::kEmbeddingReduction], 0);
}

TEST(StepTasks, RecomputationIsPartOfTheBackward) {
  const run::Run plain = simulated_run(pipeline_job());
  const run::Run again = simulated_run(pipeline_job({{"recompute_granularity", "full"}}));
  const auto longest = [](const run::Run& run, Kind kind) {
    int64_t ns = 0;
    for (const run::PipelineTask& task : run.tasks[1].tasks)
      if (task.kind == kind) ns = std::max(ns, task.duration_ns);
    return static_cast<double>(ns);
  };
  EXPECT_EQ(counts(again.tasks[1])[Kind::kForward], 8);
  EXPECT_NEAR(longest(again, Kind::kBackward),
              longest(plain, Kind::kBackward) + longest(plain, Kind::kForward),
              0.1 * longest(again, Kind::kBackward));
}

TEST(StepTasks, GradientsOfWeightsApart) {
  const run::Run run = simulated_run(pipeline_job({{"schedule", "zb-h1"}}));
  auto count = counts(run.tasks[1]);
  EXPECT_EQ(count[Kind::kBackward], 0);
  EXPECT_EQ(count[Kind::kBackwardInput], 8);
  EXPECT_GT(count[Kind::kBackwardWeight], 0);
}

// At one clock all ranks of a stage are alike, so four ranks tell the mean of all: kind by kind the
// exposed time is the breakdown's.
TEST(CollectiveUse, ExposedTimeAddsUpToTheBreakdown) {
  const run::Run run = simulated_run(pipeline_job({{"sequence_parallel", "true"}}));
  std::map<std::string, double> exposed;
  for (const run::CollectiveUse& use : run.collectives) {
    exposed[use.kind] += use.exposed_s;
    EXPECT_LE(use.exposed_s, use.total_s * (1 + 1e-9)) << use.group << ' ' << use.kind;
    EXPECT_GT(use.calls, 0);
  }
  const run::Breakdown& b = run.performance.breakdown_s;
  const double step_s = run.performance.step_time_s;
  EXPECT_NEAR(exposed["all_reduce"], b.exposed_all_reduce, 1e-4 * step_s);
  EXPECT_NEAR(exposed["all_gather"], b.exposed_all_gather, 1e-4 * step_s);
  EXPECT_NEAR(exposed["reduce_scatter"], b.exposed_reduce_scatter, 1e-4 * step_s);
  EXPECT_NEAR(exposed["send_recv"], b.exposed_send_recv, 1e-4 * step_s);
}

TEST(KernelWindows, StartSteadyStateAndEndAndNoMoreThanAllowed) {
  SimulateOptions options;
  options.sampled_ranks = {0, 4, 8, 12};
  const run::Run whole = simulated_run(pipeline_job(), options);
  options.most_kernels = whole.kernels.size();
  EXPECT_EQ(simulated_run(pipeline_job(), options).kernels_to_ns, 0);
  options.most_kernels = whole.kernels.size() / 2;
  const run::Run part = simulated_run(pipeline_job(), options);
  EXPECT_GT(part.kernels.size(), 1000u);
  EXPECT_LE(part.kernels.size(), options.most_kernels);
  EXPECT_LT(part.kernels_from_ns, part.kernels_to_ns);
  for (const run::PipelineTask& task : part.tasks[3].tasks) {
    if (task.kind != Kind::kForward || task.micro_batch != 3) continue;
    EXPECT_GE(task.start_ns, part.kernels_from_ns);
    EXPECT_LE(task.start_ns + task.duration_ns, part.kernels_to_ns);
  }
  ASSERT_EQ(part.kernel_windows.size(), 3u);
  EXPECT_EQ(part.kernel_windows[0].from_ns, 0);
  EXPECT_EQ(part.kernel_windows[1].from_ns, part.kernels_from_ns);
  EXPECT_EQ(part.kernel_windows[1].to_ns, part.kernels_to_ns);
  EXPECT_EQ(part.kernel_windows[2].to_ns, step_ns(part));
  std::vector<size_t> held(3);
  for (const run::Kernel& kernel : part.kernels) {
    size_t windows = 0;
    for (size_t i = 0; i < held.size(); ++i) {
      const run::StepWindow& window = part.kernel_windows[i];
      const bool within =
          kernel.start_ns < window.to_ns && kernel.start_ns + kernel.duration_ns > window.from_ns;
      held[i] += within ? 1 : 0;
      windows += within ? 1 : 0;
    }
    EXPECT_GE(windows, 1u);
  }
  EXPECT_GT(held[0], options.most_kernels / 5);
  EXPECT_GT(held[1], options.most_kernels / 3);
  EXPECT_GT(held[2], options.most_kernels / 5);
  options.most_kernels = 100;
  EXPECT_LE(simulated_run(pipeline_job(), options).kernels.size(), 100u);
}

TEST(StepTasks, KernelsSayTheirPass) {
  SimulateOptions options;
  options.sampled_ranks = {4};
  std::map<std::string, int> passes;
  for (const run::Kernel& kernel :
       simulated_run(pipeline_job({{"recompute_granularity", "full"}}), options).kernels)
    if (kernel.category != "wait") ++passes[kernel.pass];
  EXPECT_EQ(passes[""], 0);
  EXPECT_GT(passes["forward"], 0);
  EXPECT_GT(passes["recompute"], 0);
  EXPECT_GT(passes["backward"], 0);
  EXPECT_GT(passes["weight"], 0);
  EXPECT_GT(passes["optimizer"], 0);
}

// What a Run holds beside its summary changes none of its numbers.
TEST(StepTasks, DetailLeavesTheSummaryAlone) {
  const spec::Job job = pipeline_job();
  SimulateOptions options;
  options.sampled_ranks = {0, 9};
  options.bands = true;
  EXPECT_EQ(simulated_run(job, options).performance.step_time_s,
            simulate(job, {})->performance.step_time_s);
}

}  // namespace
}  // namespace ergometer::engine
