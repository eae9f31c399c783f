#include "import/pipeline/pipeline_files.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/bytes/test_source.h"

namespace ergometer::importer {
namespace {

using TaskKind = run::PipelineTask::Kind;

std::string event(const std::string& name, const std::string& phase, const std::string& time,
                  int process, const std::string& arguments, const std::string& more = "") {
  return R"({"name":")" + name + R"(","ph":")" + phase + R"(","ts":)" + time + R"(,"pid":)" +
         std::to_string(process) + R"(,"tid":0,"args":{)" + arguments + "}" + more + "}";
}

std::vector<run::RankTrace> megascan(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& e : events) text += (text.empty() ? "[" : ",\n") + e;
  return base::value_of(read_text(read_megascan, text + "]", "m.json"));
}

TEST(Megascan, BeginningsAndEndsMakeTasks) {
  const std::string end = R"("iteration":1,"microbatch":3,"model_chunk":2,"pp_rank":1)";
  const auto ranks =
      megascan({event("iteration begin", "i", "1", 1, R"("iteration":1)"),
                event("forward", "B", "10.0625", 1, R"("iteration":1)"),
                event("recv-prev", "B", "11", 1, R"("iteration":1)"),
                event("recv-prev", "E", "12", 1, end), event("forward", "E", "20", 1, end),
                event("backward", "B", "1700000000000021", 0, R"("iteration":1)"),
                event("backward", "E", "1700000000000029.001", 0, end),
                event("iteration end", "i", "99", 1, R"("iteration":1)")});
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].rank, 0);
  EXPECT_EQ(ranks[0].tasks.at(0).kind, TaskKind::kBackward);
  EXPECT_EQ(ranks[0].tasks[0].duration_ns, 8001);
  const run::RankTrace& trace = ranks[1];
  EXPECT_EQ(trace.stage, 1);
  EXPECT_EQ(trace.stages, 2);
  ASSERT_EQ(trace.tasks.size(), 2u);
  EXPECT_EQ(trace.tasks[0].kind, TaskKind::kForward);
  EXPECT_EQ(trace.tasks[0].start_ns, 10062);  // half to even
  EXPECT_EQ(trace.tasks[0].duration_ns, 20000 - 10062);
  EXPECT_EQ(trace.tasks[0].step, 1);
  EXPECT_EQ(trace.tasks[0].micro_batch, 3);
  EXPECT_EQ(trace.tasks[0].chunk, 2);
  EXPECT_EQ(trace.tasks[1].kind, TaskKind::kReceive);
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].start_ns, 1000);
  EXPECT_EQ(trace.steps[0].end_ns, 99000);
}

TEST(Megascan, WhatDoesNotPairIsCounted) {
  const auto ranks =
      megascan({event("forward", "E", "1", 0, ""), event("forward", "B", "2", 0, ""),
                event("forward", "E", "3", 0, ""), event("backward", "B", "4", 0, ""),
                event("forward", "B", "null", 0, ""), event("note", "i", "5", 0, ""),
                event("forward", "X", "9", 0, "", R"(,"dur":-1)")});
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].tasks.size(), 1u);
  int64_t dropped = 0;
  for (const run::Dropped& d : ranks[0].dropped) dropped += d.count;
  EXPECT_EQ(dropped, 5);
}

TEST(Megascan, ThreadsOfOneProcessAreRanksOfTheirOwn) {
  const auto of_thread = [](int thread) {
    return R"({"name":"forward","ph":"X","ts":1,"dur":2,"pid":0,"tid":)" + std::to_string(thread) +
           R"(,"args":{"iteration":0,"pp_rank":)" + std::to_string(thread) + "}}";
  };
  const auto ranks = megascan({of_thread(0), of_thread(1)});
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_EQ(ranks[1].stage, 1);
}

TEST(Megascan, AFileWithoutTasksIsRefused) {
  const auto error = [](const std::string& text) {
    return base::error_of(read_text(read_megascan, text, "m.json"));
  };
  EXPECT_NE(error("[]").find("no forward"), std::string::npos);
  EXPECT_NE(error("[{\"ph\":\"B\"},\n{\"ph\":").find("m.json:2: is no valid JSON"),
            std::string::npos)
      << error("[{\"ph\":\"B\"},\n{\"ph\":");
}

Result<run::RankTrace> primus(const std::string& text, const std::string& file = "pp_rank_3.json") {
  return read_text(read_primus, text, file);
}

TEST(Primus, ReadsMillisecondsToTheNanosecond) {
  const auto trace = primus(R"({"2": {"total": 10, "memory": 84.5,
    "fwd_start": [0.04947400093078613, 4.3e-2], "fwd_end": [1, 2e0],
    "bwd_start": [3.25], "bwd_end": [9]}})");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->stage, 3);
  ASSERT_EQ(trace->tasks.size(), 3u);
  EXPECT_EQ(trace->tasks[0].start_ns, 43'000);
  EXPECT_EQ(trace->tasks[0].micro_batch, 1);
  EXPECT_EQ(trace->tasks[1].start_ns, 49'474);
  EXPECT_EQ(trace->tasks[2].kind, TaskKind::kBackward);
  EXPECT_EQ(trace->tasks[2].duration_ns, 5'750'000);
  ASSERT_EQ(trace->steps.size(), 1u);
  EXPECT_EQ(trace->steps[0].number, 2);
  EXPECT_EQ(trace->steps[0].end_ns, 10'000'000);
}

TEST(Primus, ZeroBubbleHasBackwardsInTwoParts) {
  const auto trace = primus(R"({"1": {"fwd_start": [0], "fwd_end": [1], "bwd_start": [1],
    "bwd_end": [2], "wgrad_start": [2], "wgrad_end": [3]}})");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->tasks.at(1).kind, TaskKind::kBackwardInput);
  EXPECT_EQ(trace->tasks.at(2).kind, TaskKind::kBackwardWeight);
}

TEST(Primus, WrongTimesAreNamed) {
  const auto error = [](const std::string& text) { return base::error_of(primus(text)); };
  EXPECT_EQ(error(R"({"1": {"fwd_start": [1, NaN], "fwd_end": [2, 3]}})"),
            "pp_rank_3.json: iteration 1: fwd_start[1] = NaN is no time in ms");
  EXPECT_EQ(error(R"({"1": {"fwd_start": [1, 2], "fwd_end": [3]}})"),
            "pp_rank_3.json: iteration 1: fwd_start has 2 times and fwd_end 1");
  EXPECT_EQ(error(R"({"1": {"fwd_start": 4}})"),
            "pp_rank_3.json: iteration 1: fwd_start is no list of times in ms");
  EXPECT_EQ(error(R"({"1": {"fwd_start": [1e40], "fwd_end": [1e]}})"),
            "pp_rank_3.json: iteration 1: fwd_start[0] = 1e40 is no time in ms");
  EXPECT_EQ(error(R"({"one": {}})"), "pp_rank_3.json: \"one\" is no number of an iteration");
  EXPECT_EQ(error("{}"), "pp_rank_3.json: holds no forward and no backward");
  EXPECT_NE(error(R"({"1": {"fwd_start": [1, 2)").find("no valid JSON"), std::string::npos);
}

TEST(Primus, IterationsAreJoinedToOneClock) {
  std::vector<run::RankTrace> ranks;
  for (const char* end : {"5", "8"})
    ranks.push_back(*primus(std::string(R"({"1": {"fwd_start": [1], "fwd_end": [)") + end +
                            R"(]}, "2": {"fwd_start": [2], "fwd_end": [3]}})"));
  join_step_clocks(ranks);
  for (const run::RankTrace& trace : ranks) {
    EXPECT_EQ(trace.tasks[1].start_ns, 10'000'000);  // 8 ms of step 1, 2 ms of step 2
    EXPECT_EQ(trace.steps[1].start_ns, 8'000'000);
  }
  join_step_clocks(ranks);  // they have one clock now
  EXPECT_EQ(ranks[0].tasks[1].start_ns, 10'000'000);
}

}  // namespace
}  // namespace ergometer::importer
