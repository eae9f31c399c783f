#include "run/file/trace_tables.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace ergometer::run {
namespace {

/// One file with a kernel and a copy, one without events.
Run imported_run() {
  RankTrace full;
  full.rank = 3;
  full.file = "a.json";
  full.base_time_ns = 1711964646000000000;
  full.gpu = "H100";
  full.truncated = true;
  full.names = {"nccl", "copy"};
  full.events = {{.start_ns = 5,
                  .duration_ns = 7,
                  .correlation = 9,
                  .name = 0,
                  .collective = 0,
                  .device = 1,
                  .stream = 20,
                  .kind = GpuClass::kCommunication},
                 {.start_ns = -3, .duration_ns = 0, .name = 1, .kind = GpuClass::kMemory}};
  full.collectives = {{"allreduce", "0", "dp", "Float", 10, -1, 8, 4}};
  full.names.insert(full.names.end(), {"cudaLaunchKernel", "aten::mm", "[[4, 8], [8, 16]]",
                                       "cudaDeviceSynchronize", "## forward ##"});
  full.launches = {{9, 2, 1, 1, 77, 2}};
  full.waits = {{.start_ns = 3, .duration_ns = 4, .thread = 77, .name = 5}};
  full.operators = {{.name = 3,
                     .shapes = 4,
                     .external_id = 2,
                     .record_function_id = 12,
                     .sequence = 5,
                     .forward_thread = 1,
                     .thread = 77,
                     .start_ns = 0,
                     .duration_ns = 3}};
  full.ranges = {{.name = 6, .gpu = true, .thread = 20, .start_ns = -9, .duration_ns = 90}};
  full.steps = {{4, 0, 10}, {5, 10, 20}};
  RankTrace empty;
  empty.rank = 4;
  empty.file = "b.json";
  Run run;
  run.source = "imported";
  run.performance.step_time_s = 0.5;
  run.kernels = {{.rank = 3,
                  .stream = 20,
                  .name = "nccl",
                  .category = "collective",
                  .start_ns = 5,
                  .duration_ns = 7},
                 {.rank = 3,
                  .stream = -1,
                  .name = "copy",
                  .category = "copy",
                  .start_ns = -3,
                  .duration_ns = 0}};
  run.traces = {full, empty};
  run.dropped = {{"a.json", "not a GPU event", 12}};
  return run;
}

class TraceTables : public testing::Test {
 protected:
  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("ergometer-trace-tables-" + std::to_string(getpid())))
                          .string();
  void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(TraceTables, GiveBackWhatWasWritten) {
  const auto run = imported_run();
  ASSERT_TRUE(write_run(run, path_));
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->traces.size(), 2u);
  const RankTrace &a = run.traces[0], &b = back->traces[0];
  EXPECT_EQ(b.rank, 3);
  EXPECT_EQ(b.file, "a.json");
  EXPECT_EQ(b.base_time_ns, a.base_time_ns);
  EXPECT_EQ(b.gpu, "H100");
  EXPECT_TRUE(b.truncated);
  EXPECT_EQ(b.names, a.names);
  ASSERT_EQ(b.events.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(b.events[i].start_ns, a.events[i].start_ns);
    EXPECT_EQ(b.events[i].duration_ns, a.events[i].duration_ns);
    EXPECT_EQ(b.events[i].correlation, a.events[i].correlation);
    EXPECT_EQ(b.events[i].collective, a.events[i].collective);
    EXPECT_EQ(b.events[i].device, a.events[i].device);
    EXPECT_EQ(b.events[i].stream, a.events[i].stream);
    EXPECT_EQ(b.events[i].kind, a.events[i].kind);
  }
  ASSERT_EQ(b.collectives.size(), 1u);
  EXPECT_EQ(b.collectives[0].description, "dp");
  EXPECT_EQ(b.collectives[0].out_elements, -1);
  EXPECT_EQ(b.collectives[0].sequence, 4);
  ASSERT_EQ(b.launches.size(), 1u);
  EXPECT_EQ(b.launches[0].external_id, 2);
  ASSERT_EQ(b.steps.size(), 2u);
  EXPECT_EQ(b.steps[1].number, 5);
  EXPECT_EQ(back->traces[1].rank, 4);
  EXPECT_TRUE(back->traces[1].events.empty());
  ASSERT_EQ(back->dropped.size(), 1u);
  EXPECT_EQ(back->dropped[0].count, 12);
  EXPECT_DOUBLE_EQ(back->performance.step_time_s, 0.5);
}

TEST_F(TraceTables, GiveBackWhatTheCpuDid) {
  const auto run = imported_run();
  ASSERT_TRUE(write_run(run, path_));
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  const RankTrace& trace = back->traces.at(0);
  ASSERT_EQ(trace.operators.size(), 1u);
  const Operator& op = trace.operators[0];
  EXPECT_EQ(trace.names.at(op.name), "aten::mm");
  EXPECT_EQ(trace.names.at(op.shapes), "[[4, 8], [8, 16]]");
  EXPECT_EQ(op.dtypes, GpuEvent::kNone);
  EXPECT_EQ(op.external_id, 2);
  EXPECT_EQ(op.record_function_id, 12);
  EXPECT_EQ(op.sequence, 5);
  EXPECT_EQ(op.forward_thread, 1);
  EXPECT_EQ(op.thread, 77);
  EXPECT_EQ(op.duration_ns, 3);
  ASSERT_EQ(trace.ranges.size(), 1u);
  EXPECT_EQ(trace.names.at(trace.ranges[0].name), "## forward ##");
  EXPECT_TRUE(trace.ranges[0].gpu);
  EXPECT_EQ(trace.ranges[0].start_ns, -9);
  ASSERT_EQ(trace.waits.size(), 1u);
  EXPECT_EQ(trace.names.at(trace.waits[0].name), "cudaDeviceSynchronize");
  ASSERT_EQ(trace.launches.size(), 1u);
  EXPECT_EQ(trace.names.at(trace.launches[0].name), "cudaLaunchKernel");
  EXPECT_EQ(trace.launches[0].thread, 77);
  EXPECT_TRUE(back->traces.at(1).operators.empty());
}

TEST_F(TraceTables, RefuseRowsThatReferToNothing) {
  for (const char* damage : {"UPDATE trace_events SET file = 7",
                             "UPDATE trace_events SET collective = 5 WHERE kernel = 1",
                             "UPDATE trace_events SET kind = 3", "DELETE FROM kernels",
                             "DROP TABLE trace_steps", "UPDATE trace_launches SET file = -1"}) {
    ASSERT_TRUE(write_run(imported_run(), path_));
    {
      Database db(path_, Database::Access::kCreate);
      db.execute(damage);
      ASSERT_TRUE(db.ok()) << db.problem();
    }
    const auto back = read_run(path_);
    ASSERT_FALSE(back) << damage;
    EXPECT_EQ(back.error().message,
              path_ + ": the Run is damaged: rows of its traces refer to what is not there");
  }
}

}  // namespace
}  // namespace ergometer::run
