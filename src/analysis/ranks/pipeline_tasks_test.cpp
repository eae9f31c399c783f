#include "analysis/ranks/pipeline_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/simulated_traces.h"
#include "analysis/trace/test_traces.h"

namespace ergometer::analysis {
namespace {

using TaskKind = run::PipelineTask::Kind;

/// "F0 F1 B0 B1" of the tasks in order; other kinds are left out.
std::string order_of(const run::RankTrace& trace) {
  std::string text;
  for (const run::PipelineTask& task : trace.tasks) {
    const char* letter = task.kind == TaskKind::kForward          ? "F"
                         : task.kind == TaskKind::kBackward       ? "B"
                         : task.kind == TaskKind::kBackwardInput  ? "I"
                         : task.kind == TaskKind::kBackwardWeight ? "W"
                                                                  : "";
    if (*letter != 0)
      text += (text.empty() ? "" : " ") + std::string(letter) + std::to_string(task.micro_batch);
  }
  return text;
}

/// One stage of two, 3 micro batches, 1F1B. F takes 10, B 20; `backward` marks the operators.
/// Stage 0: F0 | F1 | B0 F2 | B1 | B2 (messages at the bars), stage 1: F0 B0 | F1 B1 | F2 B2.
run::RankTrace stage(int64_t rank, bool operators) {
  TestTrace t(rank);
  const auto work = [&](bool forward, int64_t at) {
    t.kernel(at, at + (forward ? 10 : 20)).launched(at - 1);
    if (!operators) return;
    run::Operator op;
    op.external_id = t.trace.launches.back().external_id;
    op.forward_thread = forward ? -1 : 1;
    t.trace.operators.push_back(op);
  };
  const auto message = [&](int64_t at, const char* name) {
    t.collective(at, at + 2, -1, name, "pp", 2, "PIPELINE_MODEL_PARALLEL_GROUP");
  };
  if (rank == 0) {
    work(true, 0), message(10, "send"), work(true, 12), message(22, "send"), message(24, "recv");
    work(false, 44), work(true, 64), message(74, "send"), message(76, "recv");
    work(false, 80), message(100, "recv"), work(false, 120);
  } else {
    message(0, "recv"), work(true, 12), work(false, 22), message(42, "send"), message(42, "recv");
    work(true, 44), work(false, 54), message(74, "send"), message(74, "recv");
    work(true, 76), work(false, 86), message(106, "send");
  }
  return t.trace;
}

TEST(PipelineTasks, ByOperatorsBetweenMessages) {
  std::vector<run::RankTrace> ranks = {stage(0, true), stage(1, true)};
  find_pipeline_tasks(ranks, label_groups(ranks));
  EXPECT_EQ(order_of(ranks[0]), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(order_of(ranks[1]), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(ranks[1].stage, 1);
  EXPECT_EQ(ranks[1].stages, 2);
  EXPECT_EQ(ranks[0].tasks[2].start_ns, 44);
  EXPECT_EQ(ranks[0].tasks[2].duration_ns, 20);
}

TEST(PipelineTasks, ByTheOrderOf1F1B) {
  std::vector<run::RankTrace> ranks = {stage(0, false), stage(1, false)};
  find_pipeline_tasks(ranks, label_groups(ranks));
  EXPECT_EQ(order_of(ranks[0]), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(order_of(ranks[1]), "F0 B0 F1 B1 F2 B2");
  // Stage 0 shows F and B by themselves, 10 and 20 long: a third of a joined phase is the forward.
  EXPECT_EQ(ranks[0].tasks[2].start_ns, 44);
  EXPECT_EQ(ranks[0].tasks[2].duration_ns, 20);
  EXPECT_EQ(ranks[1].tasks[0].duration_ns, 10);
  EXPECT_EQ(ranks[1].tasks[1].duration_ns, 20);
}

TEST(PipelineTasks, AreNotGuessedWhereTheOrderDoesNotFit) {
  std::vector<run::RankTrace> ranks = {stage(0, false), stage(1, false)};
  std::erase_if(ranks[0].events, [](const auto& e) { return e.start_ns == 120; });
  find_pipeline_tasks(ranks, label_groups(ranks));
  EXPECT_EQ(order_of(ranks[0]), "");
}

TEST(PipelineTasks, ByNamedRanges) {
  TestTrace t;
  t.kernel(10, 20).launched(1).kernel(20, 45).launched(6);
  t.step(7, 0, 100);
  for (const auto& [name, start, duration] :
       {std::tuple("forward_step", 0, 5), {"backward-compute", 5, 5}, {"forward_hook", 0, 90}}) {
    t.trace.names.emplace_back(name);
    run::Range range;
    range.name = static_cast<uint32_t>(t.trace.names.size() - 1);
    range.start_ns = start;
    range.duration_ns = duration;
    t.trace.ranges.push_back(range);
  }
  std::vector<run::RankTrace> ranks = {t.trace};
  find_pipeline_tasks(ranks, {});
  ASSERT_EQ(order_of(ranks[0]), "F0 B0");
  EXPECT_EQ(ranks[0].tasks[0].start_ns, 10);
  EXPECT_EQ(ranks[0].tasks[1].duration_ns, 25);
  EXPECT_EQ(ranks[0].tasks[1].step, 7);
  ranks[0].tasks.clear();
  ranks[0].ranges[0].gpu = true;  // its twin on the GPU says it better
  find_pipeline_tasks(ranks, {});
  EXPECT_EQ(order_of(ranks[0]), "F0");
}

run::Kernel kernel(int64_t rank, int32_t stream, const char* name, const char* category,
                   int64_t start, int64_t duration, int64_t micro_batch = -1, int64_t layer = -1) {
  run::Kernel k;
  k.rank = rank;
  k.stream = stream;
  k.name = name;
  k.category = category;
  k.start_ns = start;
  k.duration_ns = duration;
  k.micro_batch = micro_batch;
  k.chunk = micro_batch < 0 ? -1 : 0;
  k.layer = layer;
  k.comm_bytes = stream > 0 ? 64 : 0;
  return k;
}

TEST(SimulatedTraces, HaveGroupsStepsAndTasks) {
  run::Run run;
  run.performance.step_time_s = 200e-9;
  run.kernels = {
      kernel(2, 5, "ncclDevKernel_SendRecv [recv_forward]", "send_recv", 0, 10, 0),
      kernel(2, 0, "wait [recv_forward]", "wait", 0, 10, 0),
      kernel(2, 0, "g [qkv]", "gemm", 10, 5, 0, 4),
      kernel(2, 0, "n [tp_all_gather]", "collective", 15, 5, 0, 4),
      kernel(2, 0, "g [fc1]", "gemm", 20, 5, 0, 4),
      kernel(2, 0, "g [qkv]", "gemm", 25, 5, 0, 4),  // recomputed: the backward begins
      kernel(2, 0, "g [fc1_dgrad]", "gemm", 30, 5, 0, 4),
      kernel(2, 0, "g [fc1_wgrad]", "gemm", 35, 5, 0, 4),
      kernel(2, 0, "m [adam]", "optimizer", 40, 5),
  };
  const auto traces = simulated_traces(run, {.tp = 2, .pp = 2});
  ASSERT_EQ(traces.size(), 1u);
  const run::RankTrace& t = traces[0];
  EXPECT_EQ(t.rank, 2);
  EXPECT_EQ(t.stage, 1);
  EXPECT_EQ(t.world_size, 4);
  EXPECT_EQ(t.events.size(), 8u);  // waits are no kernels
  ASSERT_EQ(t.steps.size(), 1u);
  EXPECT_EQ(t.steps[0].end_ns, 200);
  ASSERT_EQ(t.collectives.size(), 2u);
  EXPECT_EQ(t.collectives[0].name, "recv");
  EXPECT_EQ(t.collectives[0].group, "pp 0>2 forward");
  EXPECT_EQ(t.collectives[1].group, "tp 1");
  EXPECT_EQ(t.collectives[1].group_size, 2);
  EXPECT_EQ(order_of(t), "F0 B0");
  const auto backward = std::find_if(t.tasks.begin(), t.tasks.end(), [](const auto& task) {
    return task.kind == TaskKind::kBackward;
  });
  EXPECT_EQ(backward->start_ns, 25);
  EXPECT_EQ(backward->duration_ns, 15);
}

/// 16 ranks a stage, TP 2; experts' ranks lie ETP 2 fastest, then EP 4, so that two of them hold
/// each share.
TEST(SimulatedTraces, HaveGroupsOfExperts) {
  run::Run run;
  run.kernels = {kernel(29, 1, "n [ep_all_to_all]", "collective", 0, 1, 0),
                 kernel(29, 1, "n [etp_all_gather]", "collective", 1, 1, 0),
                 kernel(29, 1, "n [expert_grad_reduce_scatter]", "collective", 2, 1, 0)};
  const auto groups_of = [&](const RankLayout& layout) {
    std::vector<std::string> groups;
    const auto traces = simulated_traces(run, layout);
    for (const run::Collective& it : traces.at(0).collectives)
      groups.push_back(it.group + " of " + std::to_string(it.group_size));
    return groups;
  };
  // Rank 29 is 13 of stage 1: place 5 of the second copy, which has ETP 2 x EP 4 of them.
  EXPECT_EQ(groups_of({.tp = 2, .dp = 8, .pp = 2, .ep = 4}),
            (std::vector<std::string>{"ep 7 of 4", "etp 14 of 2", "edp 13 of 2"}));
  EXPECT_EQ(groups_of({.tp = 2, .dp = 8, .pp = 2, .ep = 4, .etp = 1}),
            (std::vector<std::string>{"ep 7 of 4", "etp 29 of 1", "edp 5 of 4"}));
}

TEST(SimulatedTraces, ZeroBubbleHasWeightsOfTheirOwn) {
  run::Run run;
  run.kernels = {kernel(0, 0, "g [fc1]", "gemm", 0, 5, 0, 0),
                 kernel(0, 0, "g [fc1_dgrad]", "gemm", 5, 5, 0, 0),
                 kernel(0, 0, "g [fc1]", "gemm", 10, 5, 1, 0),
                 kernel(0, 0, "g [fc1_wgrad]", "gemm", 15, 5, 0, 0)};
  EXPECT_EQ(order_of(simulated_traces(run, {.pp = 2})[0]), "F0 I0 F1 W0");
}

}  // namespace
}  // namespace ergometer::analysis
