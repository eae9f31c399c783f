#include "import/operations/operations.h"

#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/bytes/test_source.h"

namespace ergometer::importer {
namespace {

constexpr run::OperationGroups kGroups{.stages = 2, .replicas = 2, .lanes = 2};

std::string operation_event(
    int process, int thread, const std::string& more = "",
    const std::string& arguments = R"("step":3,"model_chunk":-1,"mb_id":1,"seq_id":2)") {
  return R"({"name":"x","cat":"forward-compute","pid":)" + std::to_string(process) + R"(,"tid":)" +
         std::to_string(thread) + R"(,"ts":10.5,"dur":2.25,"ph":"X","args":{)" + arguments + "}" +
         more + "}";
}

Result<run::OperationTimeline> read_list(const std::string& events) {
  return read_text([](ByteSource& source,
                      const std::string& file) { return read_operations(source, file, kGroups); },
                   "[" + events + "]", "j.json");
}

std::string error_of(const std::string& events) { return base::error_of(read_list(events)); }

TEST(Operations, AreRecognisedByAnEventOrByNamesOfThreads) {
  EXPECT_TRUE(is_operations(
      R"([{"cat":"forward-compute","ph":"X","args":{"step":1,"model_chunk":0,"mb_id":0}}])"));
  std::string names = "[";
  for (int thread = 0; thread < 1000; ++thread)
    names += R"({"name":"thread_name","ph":"M","args":{"name":"PP rank 0, TP rank 3, compute"}},)";
  EXPECT_TRUE(is_operations(names));
  EXPECT_FALSE(is_operations(R"([{"name":"thread_name","ph":"M","args":{"name":"stream 7"}}])"));
  EXPECT_FALSE(is_operations(R"([{"cat":"kernel","ph":"X","args":{"step":1,"mb_id":0}}])"));
}

TEST(Operations, NamesOfThreadsSayWhereTheyRan) {
  const auto timeline =
      read_list(operation_event(1, 35) +
                R"(,{"name":"thread_name","pid":1,"tid":35,"ph":"M","args":{"name":)" +
                R"("PP rank 1, TP rank 1, compute"}})");
  ASSERT_TRUE(timeline) << timeline.error().message;
  ASSERT_EQ(timeline->operations.size(), 1u);
  const run::Operation& o = timeline->operations[0];
  EXPECT_EQ(o.stage, 1);
  EXPECT_EQ(o.replica, 1);
  EXPECT_EQ(o.lane, 1);
  EXPECT_EQ(o.chunk, -1);
  EXPECT_EQ(o.micro_batch, 1);
  EXPECT_EQ(o.sequence, 2);
  EXPECT_EQ(o.start_us, 10.5);
  EXPECT_EQ(o.duration_us, 2.25);
  EXPECT_EQ(timeline->steps, std::vector<int64_t>{3});
  EXPECT_EQ(timeline->kinds.at(0).role, run::OperationRole::kForward);
}

TEST(Operations, NamesOfProcessesSayTheReplica) {
  const std::string thread =
      R"({"name":"thread_name","pid":6,"tid":0,"ph":"M","args":{"name":"PP rank 1, TP rank 0, x"}})";
  const auto by_rank = read_list(operation_event(6, 0) + "," + thread);
  ASSERT_TRUE(by_rank) << by_rank.error().message;
  EXPECT_EQ(by_rank->operations[0].replica, 1);  // rank 6 is stage 1, replica 1, lane 0
  const auto named =
      read_list(operation_event(6, 0) + "," + thread +
                R"(,{"name":"process_name","pid":6,"ph":"M","args":{"name":"DP rank [0]"}})");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->operations[0].replica, 0);
}

TEST(Operations, WithoutNamesTheProcessIsTheRank) {
  const auto timeline = read_list(operation_event(6, 0));  // 6 = (stage 1, replica 1, lane 0)
  ASSERT_TRUE(timeline) << timeline.error().message;
  EXPECT_EQ(timeline->operations[0].stage, 1);
  EXPECT_EQ(timeline->operations[0].replica, 1);
  EXPECT_EQ(timeline->operations[0].lane, 0);
}

TEST(Operations, FiveThreadsARankTellIt) {
  const auto timeline = read_list(operation_event(1, 35));  // 35 / 5 = 7 = (1, 1, 1)
  ASSERT_TRUE(timeline) << timeline.error().message;
  EXPECT_EQ(timeline->operations[0].stage, 1);
  EXPECT_EQ(timeline->operations[0].lane, 1);
}

TEST(Operations, WrongEventsAreRefused) {
  EXPECT_EQ(error_of(""), "j.json: holds no operation");
  EXPECT_EQ(error_of(operation_event(8, 99)),
            "j.json: rank 8, allowed: 0 to 7, as the groups' file says");
  EXPECT_EQ(error_of(operation_event(0, 0, "", R"("mb_id":1)")),
            "j.json: event 1 (forward-compute): found no args.step, allowed: a whole number");
  EXPECT_EQ(error_of(operation_event(0, 0, R"(,"dur":-1)")),
            "j.json: event 1 (forward-compute): dur = -1, allowed: 0 or more");
  EXPECT_EQ(error_of(operation_event(0, 0, "", R"("step":1,"model_chunk":1)")),
            "j.json: event 1 (forward-compute): model_chunk = 1, allowed: 0 to 0, as the groups' "
            "vpp_size says");
  EXPECT_EQ(error_of(operation_event(0, 0) + "," + operation_event(0, 0)),
            "j.json: forward-compute of step 3, stage 0, replica 0, micro batch 1 stands there "
            "twice");
}

TEST(Operations, RolesOfOtherNames) {
  EXPECT_EQ(operation_role("expert-grads-all-reduce"), run::OperationRole::kReplicaCollective);
  EXPECT_EQ(operation_role("position-embedding-grads-all-reduce"),
            run::OperationRole::kStageCollective);
  EXPECT_EQ(operation_role("loss-compute"), run::OperationRole::kOther);
}

std::string groups_error(const std::string& text) {
  return base::error_of(read_operation_groups(text, "j.yaml"));
}

TEST(OperationGroups, AreRead) {
  const auto groups = read_operation_groups(
      "trial_name: AR\ndp_size: 4\ndsp_size: 1\npp_size: 2  # stages\ntp_size: 8\nvpp_size: 3\n"
      "world_size: 64\n",
      "j.yaml");
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->stages, 2);
  EXPECT_EQ(groups->replicas, 4);
  EXPECT_EQ(groups->lanes, 8);
  EXPECT_EQ(groups->chunks, 3);
}

TEST(OperationGroups, WrongSizesAreRefused) {
  EXPECT_EQ(groups_error("dp_size: 2\n"),
            "j.yaml: pp_size is missing; allowed: dp_size, pp_size, tp_size, vpp_size, dsp_size "
            "and world_size, a line each");
  EXPECT_EQ(groups_error("dp_size: 2\npp_size: two\n"),
            "j.yaml:2: pp_size = two, allowed: a whole number from 1 to 1048576");
  EXPECT_EQ(groups_error("dp_size: 2\npp_size: 2\nworld_size: 8\n"),
            "j.yaml: world_size = 8, but pp_size x dp_size x tp_size x dsp_size = 4");
}

}  // namespace
}  // namespace ergometer::importer
