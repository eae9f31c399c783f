#include "run/file/log_tables.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>

#include "base/test_support.h"

namespace ergometer::run {
namespace {

namespace fs = std::filesystem;

class LogTables : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  void sql(const char* statement) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::string read_error() const { return base::error_of(read_run(path_)); }

  std::string path_ =
      (fs::temp_directory_path() / ("ergometer-log-" + std::to_string(getpid()) + ".run")).string();
};

Run example() {
  Run run;
  run.source = "recorded";
  run.facts = {{"host", "node1"}, {"command", "torchrun train.py"}};
  Device gpu;
  gpu.rank = 3;
  gpu.index = 0;
  gpu.host = "node1";
  gpu.uuid = "GPU-1";
  gpu.name = "H200";
  gpu.pci_bus_id = "00000000:17:00.0";
  gpu.file = "a.csv";
  gpu.series = {{Metric::kPower, false, {{100, 612.125}, {200, 618}}},
                {Metric::kEnergy, false, {{100, 9.5}, {150, 10}, {150, 11}}},
                {Metric::kNvlinkSent, true, {{200, 1e15}}}};
  gpu.windows = {{"step 1", 5, 10, 42.5}};
  Device node;
  node.kind = DeviceKind::kNode;
  node.job = "result_0";
  node.conversion_efficiency = 0.94;
  node.stated_power_w = 12;
  run.log.devices = {gpu, node};
  run.log.training = {{"r.txt",
                       "r",
                       "bert",
                       "dgx",
                       64,
                       {{"run", 1, 2}, {"block", 3, 4}},
                       {7.5, 8},
                       {{3, 1.5}, {4, 1.25, 50}}}};
  run.log.power_limits = {{"resnet", 300, 1.5, 280, 420}};
  run.log.gauges = {{"flops", "op=\"x\"", 5, 0.5}, {"plain", "", -1, 2}};
  run.log.collectives = {{"nccl-inspector",
                          "0x7f",
                          "node1",
                          "i.log",
                          3,
                          16,
                          2,
                          {{"AllReduce", 7, 1024, 0.5, 1.5, 2.5}, {"AllGather", -1, 1, 2, 3, 4}}},
                         {"nccl-tests", "all_reduce_perf", "", "t.txt", -1, 8, 1, {}}};
  run.log.dropped = {{"a.csv", "not a number", 3}};
  run.log.notes = {"times without zone count as UTC"};
  run.clocks = {{"node1", {{1000, 10, 5}, {2000, 20, 0}}, {{"node2", 1, 2, 3, 4}}},
                {"node2", {}, {{"node1", 5, 6, 7, 8}}}};
  return run;
}

void expect_series(const Series& found, const Series& wanted) {
  EXPECT_EQ(found.metric, wanted.metric);
  EXPECT_EQ(found.partial, wanted.partial);
  ASSERT_EQ(found.samples.size(), wanted.samples.size());
  for (size_t i = 0; i < found.samples.size(); ++i) {
    EXPECT_EQ(found.samples[i].time_ns, wanted.samples[i].time_ns);
    EXPECT_EQ(found.samples[i].value, wanted.samples[i].value);
  }
}

TEST_F(LogTables, DevicesAreReadBackToTheLastBit) {
  const run::Run run = example();
  ASSERT_TRUE(write_run(run, path_));
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->facts, run.facts);
  ASSERT_EQ(back->log.devices.size(), 2u);
  const Device& gpu = back->log.devices[0];
  EXPECT_EQ(gpu.rank, 3);
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.host, "node1");
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.name, "H200");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:17:00.0");
  EXPECT_EQ(gpu.file, "a.csv");
  ASSERT_EQ(gpu.series.size(), 3u);
  for (size_t i = 0; i < 3; ++i) expect_series(gpu.series[i], run.log.devices[0].series[i]);
  ASSERT_EQ(gpu.windows.size(), 1u);
  EXPECT_EQ(gpu.windows[0].name, "step 1");
  EXPECT_EQ(gpu.windows[0].duration_ns, 10);
  EXPECT_EQ(gpu.windows[0].energy_j, 42.5);
  const Device& node = back->log.devices[1];
  EXPECT_EQ(node.kind, DeviceKind::kNode);
  EXPECT_EQ(node.rank, -1);
  EXPECT_EQ(node.index, -1);
  EXPECT_EQ(node.job, "result_0");
  EXPECT_EQ(node.conversion_efficiency, 0.94);
  EXPECT_EQ(node.stated_power_w, 12);
}

TEST_F(LogTables, WhatElseALogHoldsIsReadBack) {
  ASSERT_TRUE(write_run(example(), path_));
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  const DeviceLog& log = back->log;
  ASSERT_EQ(log.training.size(), 1u);
  EXPECT_EQ(log.training[0].benchmark, "bert");
  EXPECT_EQ(log.training[0].global_batch, 64);
  ASSERT_EQ(log.training[0].phases.size(), 2u);
  EXPECT_EQ(log.training[0].phases[1].name, "block");
  EXPECT_EQ(log.training[0].phases[1].end_ns, 4);
  EXPECT_EQ(log.training[0].samples_per_s, (std::vector<double>{7.5, 8}));
  ASSERT_EQ(log.training[0].steps.size(), 2u);
  EXPECT_EQ(log.training[0].steps[1].number, 4);
  EXPECT_EQ(log.training[0].steps[1].seconds, 1.25);
  EXPECT_EQ(log.training[0].steps[0].end_ns, 0);
  EXPECT_EQ(log.training[0].steps[1].end_ns, 50);
  ASSERT_EQ(log.power_limits.size(), 1u);
  EXPECT_EQ(log.power_limits[0].energy_j, 420);
  ASSERT_EQ(log.collectives.size(), 2u);
  EXPECT_EQ(log.collectives[0].communicator, "0x7f");
  EXPECT_EQ(log.collectives[0].rank, 3);
  EXPECT_EQ(log.collectives[0].nodes, 2);
  ASSERT_EQ(log.collectives[0].timings.size(), 2u);
  EXPECT_EQ(log.collectives[0].timings[0].kind, "AllReduce");
  EXPECT_EQ(log.collectives[0].timings[0].sequence, 7);
  EXPECT_EQ(log.collectives[0].timings[0].bus_gb_per_s, 2.5);
  EXPECT_EQ(log.collectives[0].timings[1].sequence, -1);
  EXPECT_EQ(log.collectives[1].rank, -1);
  EXPECT_TRUE(log.collectives[1].timings.empty());
  ASSERT_EQ(log.gauges.size(), 2u);
  EXPECT_EQ(log.gauges[0].labels, "op=\"x\"");
  EXPECT_EQ(log.gauges[0].rank, 5);
  EXPECT_EQ(log.gauges[1].rank, -1);
  ASSERT_EQ(log.dropped.size(), 1u);
  EXPECT_EQ(log.dropped[0].count, 3);
  EXPECT_EQ(log.notes, example().log.notes);
  ASSERT_EQ(back->clocks.size(), 2u);
  EXPECT_EQ(back->clocks[0].readings[1].monotonic_ns, 20);
  EXPECT_EQ(back->clocks[0].readings[0].max_error_ns, 5);
  EXPECT_EQ(back->clocks[1].host, "node2");
  EXPECT_EQ(back->clocks[1].probes[0].received_ns, 8);
}

TEST_F(LogTables, ReadingsOfOneTimeShareARow) {
  ASSERT_TRUE(write_run(example(), path_));
  Database db(path_, Database::Access::kRead);
  // 100: power, energy; 150 twice: energy; 200: power, nvlink.
  EXPECT_EQ(db.number("SELECT count(*) FROM readings"), 4);
  EXPECT_EQ(db.number("SELECT count(*) FROM readings WHERE power IS NOT NULL AND nvlink_sent > 0"),
            1);
}

TEST_F(LogTables, TheLogGoesBeforeTelemetryRows) {
  run::Run run = example();
  run.telemetry = {{1, 7, 100, 100, 50, 50, 1000, 0}};
  EXPECT_EQ(device_log(run).devices.size(), 2u);
  ASSERT_TRUE(write_run(run, path_));
  const auto log = read_device_log(path_);
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->devices.size(), 2u);
  EXPECT_EQ(log->devices[0].file, "a.csv");
  EXPECT_EQ(log->devices[1].file, path_);
  run.log = {};
  EXPECT_EQ(device_log(run).devices[0].rank, 7);
}

TEST_F(LogTables, ASimulatedRunHasNoTablesOfReadings) {
  ASSERT_TRUE(write_run(run::Run{}, path_));
  Database db(path_, Database::Access::kRead);
  EXPECT_FALSE(db.has_table("readings"));
}

TEST_F(LogTables, AMetricOfAnotherVersionIsPassedOver) {
  ASSERT_TRUE(write_run(example(), path_));
  sql("ALTER TABLE readings ADD COLUMN warp_factor REAL; ALTER TABLE readings DROP COLUMN xid;"
      "UPDATE readings SET warp_factor = 9");
  const auto back = read_run(path_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->log.devices[0].series.size(), 3u);
}

TEST_F(LogTables, DamagedRowsAreAnError) {
  const auto error_after = [this](const char* damage) {
    EXPECT_TRUE(write_run(example(), path_));
    sql(damage);
    return read_error();
  };
  for (const char* damage :
       {"UPDATE readings SET device = 9", "UPDATE readings SET time_ns = 9223372036854775807",
        "UPDATE devices SET device = 7 WHERE device = 1", "UPDATE devices SET kind = 'toaster'",
        "UPDATE devices SET conversion_efficiency = 0", "UPDATE energy_windows SET device = -1",
        "UPDATE partial_metrics SET device = 99", "UPDATE training_steps SET log = 9",
        "UPDATE training_steps SET seconds = 0", "UPDATE training_steps SET seconds = 9e9",
        "UPDATE training_steps SET end_ns = -9223372036854775807",
        "UPDATE training_steps SET tokens_per_s_per_gpu = -1"})
    EXPECT_NE(error_after(damage).find("the Run is damaged"), std::string::npos) << damage;
  for (const char* damage : {"UPDATE readings SET power = 9e99", "UPDATE gauges SET value = 9e999"})
    EXPECT_NE(error_after(damage).find("allowed: a number up to 1e60"), std::string::npos)
        << damage;
  EXPECT_NE(error_after("DROP TABLE devices").find("no such table: devices"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::run
