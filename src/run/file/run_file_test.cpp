#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "run/file/sqlite.h"
#include "run/run.h"
#include "run/summary_fields.h"

namespace ergometer::run {
namespace {

namespace fs = std::filesystem;

class RunFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) const { temporary_.put(name, text); }
  void sql(const std::string& name, const char* statement) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path(name).c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::string read_error(const std::string& name) const {
    return base::error_of(read_run(path(name)));
  }

  base::TestFolder temporary_;
  const fs::path folder_ = temporary_.root();
};

/// A Run in which every number differs from every other and from its default.
Run numbered_run() {
  Run run;
  double next = 1.0 / 3.0;
  for (const SummaryField& field : summary_fields()) field.set(run, next += 1);
  run.has_power = true;
  run.power.step_energy = {{"phase", "forward", 1234.5, 1000.25, 0.75},
                           {"part", "tensor", 300.5, 0, 0}};
  run.power.gpu_parts = {{"tensor", 300.5}, {"hbm", 90.25}};
  run.power.kinds = {{"A100-SXM4-80GB", "hgx-a100-80gb", 1, 2, 3, 4, 5, 6, 7, 8, 0.5},
                     {"H100-SXM5-80GB", "hgx-h100", 361.25, 2, 3, 4, 5, 6, 7, 8, 0.25}};
  run.power.node_parts = {{"gpus", 3000}, {"fans", 250}};
  run.cluster_power.watts = {3000.5, 3100.25, 2900};
  run.cluster_power.ramps = {{0.1, 500, 400}, {1, 50, 40}};
  run.cluster_power.bands = {{0.5, 1, 120}, {1, 2, 60}};
  run.thermal.event_shares = {{"sw_power_cap", 0.25}, {"sw_thermal_slowdown", 0.125}};
  run.thermal.limit = "power: the cap";
  using Kind = PipelineTask::Kind;
  run.tasks = {{0, 0, {{Kind::kForward, 0, 3, 1, 100, 200}, {Kind::kOptimizer, 0, -1, -1, 300, 9}}},
               {8,
                1,
                {{Kind::kBackwardWeight, 0, 0, 0, 0, 5},
                 {Kind::kWait, 0, -1, -1, 5, 7, false, "stage 0"},
                 {Kind::kSend, 0, 0, 0, 5, 2, true, "send to stage 0"}}}};
  run.bands = {{Metric::kInstantPower, 50, 1.5, 2.5, 3.5, 4.5, 5.5},
               {Metric::kSmClock, 60, 1, 2, 3, 4, 5}};
  run.collectives = {{"tp", "all_gather", 12, 1e9, 0.5, 0.25, 240.5},
                     {"pp", "send_recv", 3, 2, 1, 0, 0}};
  run.slots = {{0, 0}, {0, 1}, {1, 0}};
  run.assumptions = {{"gpu", "memory.bandwidth", "3.35 TB/s", "data sheet", "datasheet"},
                     {"parallelism", "tp", "4", "--tp", ""}};
  run.kernels_from_ns = 1000;
  run.kernels_to_ns = 2000;
  run.kernel_windows = {{0, 10}, {1000, 2000}};
  run.telemetry = {{100000000, 3, 612.5, 600.25, 71, 80, 1695, 4},
                   {200000000, 3, 618.5, 601.25, 72, 81, 1680, 36}};
  run.source = "imported";
  run.limiter = "compute: 'GEMM' bound";
  run.job_json = "{\n  \"tp\": 4\n}\n";
  run.memory.advice = "try --tp 8";
  run.memory.stages = {{0, 1, 2, 3, 4, 5, {{"weights, bf16", 1.5}, {"kv", 2.5}}},
                       {1, 6, 7, 8, 9, 10, {}}};
  run.experts = {{"--moe-routing zipf:1", 2.5, 1.5, 2.25, 0.125, 5e10}};
  run.sequences = {
      {"--sequence-order length-balanced", 2.5, 2.25, 3, 1e5, 0.25, 0.5, 0.0625, 1.5, 5e10}};
  run.gpu_kinds = {{"A100-SXM4-80GB", "hgx-a100-80gb", 16, "0-15", "0, 2-3", 1.5, 0.25, 0.75}};
  run.links = {{"nvlink", 1e12, 10.5, 20.25, 0.125}, {"nic", 2e11, 1.5, 3.5, 0.5}};
  run.ranks = {{0, 1, 2, 3, 4.5, {1, 2, 3, 4, 5, 6, 7, 8}, 600, 700, 65.5, 71.5, 1695, 0.25}};
  run.kernels = {{3, 1, "qkv", "gemm", 1234567890123, 17, 4, 5, 6, 1e12, 2e6, 3e6, "recompute"},
                 {3, 0, "wait", "wait", 99, 1, -1, -1, -1, 0, 0, 0}};
  return run;
}

TEST_F(RunFile, EverythingWrittenIsReadBackToTheLastBit) {
  const run::Run run = numbered_run();
  ASSERT_TRUE(write_run(run, path("a.run")));
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  for (const SummaryField& field : summary_fields())
    EXPECT_EQ(field.get(*back), field.get(run)) << field.name;
  EXPECT_EQ(back->source, run.source);
  EXPECT_EQ(back->limiter, run.limiter);
  ASSERT_EQ(back->experts.size(), 1u);
  EXPECT_EQ(back->experts[0].setting, "--moe-routing zipf:1");
  EXPECT_EQ(back->experts[0].mean_load, 1.5);
  EXPECT_EQ(back->experts[0].peak_memory_bytes, 5e10);
  EXPECT_EQ(back->job_json, run.job_json);
  EXPECT_EQ(back->memory.advice, run.memory.advice);
  ASSERT_EQ(back->memory.stages.size(), 2u);
  EXPECT_EQ(back->memory.stages[0].parts[1].name, "kv");
  EXPECT_EQ(back->memory.stages[0].parts[1].bytes, 2.5);
  EXPECT_EQ(back->memory.stages[1].other_bytes, 10);
  ASSERT_EQ(back->links.size(), 2u);
  EXPECT_EQ(back->links[0].kind, "nvlink");
  EXPECT_EQ(back->links[1].utilization, 0.5);
  ASSERT_EQ(back->ranks.size(), 1u);
  EXPECT_EQ(back->ranks[0].breakdown_s.idle, 8);
  EXPECT_EQ(back->ranks[0].end_s, 4.5);
  ASSERT_EQ(back->kernels.size(), 2u);
  EXPECT_EQ(back->kernels[0].start_ns, 1234567890123);
  EXPECT_EQ(back->kernels[0].layer, 6);
  EXPECT_EQ(back->kernels[1].micro_batch, -1);
}

TEST_F(RunFile, PowerAndHeatAreReadBackToTheLastBit) {
  const run::Run run = numbered_run();
  ASSERT_TRUE(write_run(run, path("a.run")));
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back->has_power);
  ASSERT_EQ(back->power.gpu_parts.size(), 2u);
  EXPECT_EQ(back->power.gpu_parts[1].name, "hbm");
  EXPECT_EQ(back->power.gpu_parts[1].watts, 90.25);
  ASSERT_EQ(back->power.node_parts.size(), 2u);
  EXPECT_EQ(back->power.node_parts[0].watts, 3000);
  ASSERT_EQ(back->power.kinds.size(), 2u);
  EXPECT_EQ(back->power.kinds[1].node, "hgx-h100");
  EXPECT_EQ(back->power.kinds[1].mean_w_per_gpu, 361.25);
  EXPECT_EQ(back->power.kinds[1].throttled_time_fraction, 0.25);
  EXPECT_EQ(back->cluster_power.watts, run.cluster_power.watts);
  ASSERT_EQ(back->cluster_power.ramps.size(), 2u);
  EXPECT_EQ(back->cluster_power.ramps[1].down_w_per_s, 40);
  ASSERT_EQ(back->cluster_power.bands.size(), 2u);
  EXPECT_EQ(back->cluster_power.bands[0].rms_w, 120);
  ASSERT_EQ(back->thermal.event_shares.size(), 2u);
  EXPECT_EQ(back->thermal.event_shares[1].reason, "sw_thermal_slowdown");
  EXPECT_EQ(back->thermal.event_shares[1].fraction, 0.125);
  EXPECT_EQ(back->thermal.limit, "power: the cap");
  ASSERT_EQ(back->telemetry.size(), 2u);
  EXPECT_EQ(back->telemetry[1].time_ns, 200000000);
  EXPECT_EQ(back->telemetry[1].power_w, 618.5);
  EXPECT_EQ(back->telemetry[1].average_power_w, 601.25);
  EXPECT_EQ(back->telemetry[1].memory_c, 81);
  EXPECT_EQ(back->telemetry[1].event_reasons, 36);
  EXPECT_EQ(back->ranks[0].mean_power_w, 600);
  EXPECT_EQ(back->ranks[0].peak_power_w, 700);
  EXPECT_EQ(back->ranks[0].mean_gpu_c, 65.5);
  EXPECT_EQ(back->ranks[0].max_gpu_c, 71.5);
  EXPECT_EQ(back->ranks[0].mean_clock_mhz, 1695);
  EXPECT_EQ(back->ranks[0].throttled_time_fraction, 0.25);
}

TEST_F(RunFile, WhatAReportShowsIsReadBack) {
  const run::Run run = numbered_run();
  ASSERT_TRUE(write_run(run, path("a.run")));
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->kernels[0].pass, "recompute");
  EXPECT_EQ(back->kernels[1].pass, "");
  EXPECT_EQ(back->kernels_from_ns, 1000);
  EXPECT_EQ(back->kernels_to_ns, 2000);
  ASSERT_EQ(back->tasks.size(), 2u);
  ASSERT_EQ(back->tasks[0].tasks.size(), 2u);
  EXPECT_EQ(back->tasks[0].tasks[0].micro_batch, 3);
  EXPECT_EQ(back->tasks[0].tasks[1].kind, PipelineTask::Kind::kOptimizer);
  EXPECT_EQ(back->tasks[0].tasks[1].chunk, -1);
  EXPECT_EQ(back->tasks[1].stage, 1);
  ASSERT_EQ(back->tasks[1].tasks.size(), 3u);
  EXPECT_EQ(back->tasks[1].tasks[1].kind, PipelineTask::Kind::kWait);
  EXPECT_EQ(back->tasks[1].tasks[1].what, "stage 0");
  EXPECT_FALSE(back->tasks[1].tasks[1].beside);
  EXPECT_TRUE(back->tasks[1].tasks[2].beside);
  ASSERT_EQ(back->kernel_windows.size(), 2u);
  EXPECT_EQ(back->kernel_windows[0].to_ns, 10);
  EXPECT_EQ(back->kernel_windows[1].from_ns, 1000);
  ASSERT_EQ(back->bands.size(), 2u);
  EXPECT_EQ(back->bands[0].metric, Metric::kInstantPower);
  EXPECT_EQ(back->bands[0].p95, 4.5);
  EXPECT_EQ(back->bands[1].time_ns, 60);
  ASSERT_EQ(back->collectives.size(), 2u);
  EXPECT_EQ(back->collectives[0].bus_gb_per_s, 240.5);
  EXPECT_EQ(back->collectives[1].bus_gb_per_s, 0);
  ASSERT_EQ(back->slots.size(), 3u);
  EXPECT_EQ(back->slots[2].row, 1);
  ASSERT_EQ(back->assumptions.size(), 2u);
  EXPECT_EQ(back->assumptions[0].grade, "datasheet");
  EXPECT_EQ(back->assumptions[1].grade, "");
}

TEST_F(RunFile, AFileFromBeforeTheTablesOfReportsReads) {
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  sql("a.run",
      "DROP TABLE tasks; DROP TABLE telemetry_bands; DROP TABLE collectives; DROP TABLE slots;"
      "DROP TABLE assumptions; DROP TABLE kernel_windows; ALTER TABLE kernels DROP COLUMN pass;"
      "DELETE FROM run WHERE key LIKE 'kernels_%'");
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->kernels.size(), 2u);
  EXPECT_EQ(back->kernels[0].pass, "");
  EXPECT_EQ(back->kernels_to_ns, 0);
  EXPECT_TRUE(back->tasks.empty() && back->bands.empty() && back->collectives.empty() &&
              back->slots.empty() && back->assumptions.empty());
}

TEST_F(RunFile, TasksOfAFileThatNamesNoWaitsRead) {
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  sql("a.run", "ALTER TABLE tasks DROP COLUMN what; ALTER TABLE tasks DROP COLUMN beside");
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->tasks[1].tasks[2].kind, PipelineTask::Kind::kSend);
  EXPECT_EQ(back->tasks[1].tasks[2].what, "");
}

TEST_F(RunFile, TasksAndBandsThatNoneCanBeAreDamage) {
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  sql("a.run", "UPDATE tasks SET kind = 'dance'");
  EXPECT_NE(read_error("a.run").find("tasks"), std::string::npos) << read_error("a.run");
  ASSERT_TRUE(write_run(numbered_run(), path("b.run")));
  sql("b.run", "UPDATE telemetry_bands SET metric = 'mood'");
  EXPECT_NE(read_error("b.run").find("the Run is damaged"), std::string::npos);
  ASSERT_TRUE(write_run(numbered_run(), path("c.run")));
  sql("c.run", "UPDATE kernel_windows SET to_ns = 1500 WHERE from_ns = 0");
  EXPECT_NE(read_error("c.run").find("the Run is damaged"), std::string::npos);
}

TEST_F(RunFile, WithoutPowerThereIsNoNumberOfIt) {
  run::Run run = numbered_run();
  run.has_power = false;
  ASSERT_TRUE(write_run(run, path("a.run")));
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->has_power);
  EXPECT_EQ(back->power.mean_w_per_gpu, 0);
  EXPECT_TRUE(back->cluster_power.watts.empty());
  EXPECT_EQ(back->ranks[0].mean_power_w, 0);
}

TEST_F(RunFile, AFileFromBeforeTheTablesOfPowerReads) {
  run::Run run = numbered_run();
  run.has_power = false;
  ASSERT_TRUE(write_run(run, path("a.run")));
  sql("a.run",
      "DROP VIEW gpus; DROP TABLE telemetry; DROP TABLE power_parts; DROP TABLE event_shares; "
      "DROP TABLE cluster_power; DROP TABLE cluster_ramps; DROP TABLE cluster_bands; "
      "ALTER TABLE ranks DROP COLUMN mean_power_w");
  const auto back = read_run(path("a.run"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->ranks.size(), 1u);
}

TEST_F(RunFile, TheSameRunGivesTheSameBytes) {
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  ASSERT_TRUE(write_run(numbered_run(), path("b.run")));
  const auto bytes = [&](const char* name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes("a.run"), bytes("b.run"));
}

TEST_F(RunFile, ARunReplacesARunAndLeavesNothingBeside) {
  ASSERT_TRUE(write_run(run::Run{}, path("a.run")));
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  EXPECT_EQ(read_run(path("a.run"))->limiter, "compute: 'GEMM' bound");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(RunFile, AFileThatIsNotARunIsNeverReplaced) {
  put("job.yaml", "model: llama3-70b\n");
  const auto result = write_run(numbered_run(), path("job.yaml"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("exists and is not a Run"), std::string::npos);
  EXPECT_EQ(fs::file_size(path("job.yaml")), 18u);
}

TEST_F(RunFile, TargetsThatCannotBeWrittenAreRefused) {
  EXPECT_NE(write_run({}, folder_.string()).error().message.find("is a folder"), std::string::npos);
  EXPECT_NE(write_run({}, path("none/a.run")).error().message.find("there is no folder"),
            std::string::npos);
  EXPECT_NE(write_run({}, "/dev/null").error().message.find("not a regular file"),
            std::string::npos);
}

TEST_F(RunFile, WhatIsNotARunIsToldApart) {
  put("text", "hello, this is a text file, not a database\n");
  put("empty", "");
  sql("other.db", "CREATE TABLE t (x)");
  EXPECT_NE(read_error("text").find("not an SQLite file"), std::string::npos);
  EXPECT_NE(read_error("empty").find("not an SQLite file"), std::string::npos);
  EXPECT_NE(read_error("other.db").find("not a Run written by Ergometer"), std::string::npos);
  EXPECT_NE(read_error("absent").find("no such file"), std::string::npos);
  EXPECT_NE(read_run(folder_.string()).error().message.find("is a folder"), std::string::npos);
}

TEST_F(RunFile, ANewerSchemaAndAMissingTableAreNamed) {
  ASSERT_TRUE(write_run({}, path("a.run")));
  sql("a.run", "DROP TABLE links");
  EXPECT_NE(read_error("a.run").find("the table 'links' is missing"), std::string::npos);
  sql("a.run", "PRAGMA user_version = 9");
  EXPECT_NE(read_error("a.run").find("newer Ergometer (schema 9; this one reads up to 1)"),
            std::string::npos);
}

TEST_F(RunFile, ATableThatLacksAColumnIsNoRowsOfZeros) {
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  sql("a.run", "ALTER TABLE links DROP COLUMN utilization");
  EXPECT_EQ(read_error("a.run"),
            path("a.run") + ": the Run cannot be read: a table has 5 columns; needed: 6");
}

TEST_F(RunFile, ATruncatedRunIsAnErrorNotACrash) {
  ASSERT_TRUE(write_run(numbered_run(), path("a.run")));
  fs::resize_file(path("a.run"), 6000);
  EXPECT_FALSE(read_error("a.run").empty());
}

TEST_F(RunFile, ASchemaThatIsNotOursIsRefused) {
  struct Odd {
    const char *statement, *told;
  };
  for (const Odd& odd :
       {Odd{"DROP TABLE links; CREATE TABLE links(position, kind, bytes_per_step, mean_gb_per_s, "
            "peak_gb_per_s, utilization, big AS (hex(zeroblob(50000000))))",
            "the column links.big, which is computed"},
        Odd{"CREATE TRIGGER t AFTER INSERT ON links BEGIN SELECT 1; END", "the trigger t"},
        Odd{"CREATE VIRTUAL TABLE v USING fts5(a)", "the virtual table v"},
        Odd{"CREATE TABLE d(a, b DEFAULT "
            "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')",
            "the column d.b with a default of its own"}}) {
    ASSERT_TRUE(write_run(numbered_run(), path("odd.run")));
    sql("odd.run", odd.statement);
    EXPECT_EQ(read_error("odd.run"), path("odd.run") +
                                         ": the Run cannot be read: its schema holds " + odd.told +
                                         ", which no such file has");
    EXPECT_FALSE(read_device_log(path("odd.run")));
    EXPECT_FALSE(has_traces(path("odd.run")).value_or(true));
  }
}

TEST_F(RunFile, NumbersThatAreNoneAreRefused) {
  for (const auto& [value, told] : {std::pair{"9e999", "inf"}, std::pair{"-1e61", "-1e+61"}}) {
    ASSERT_TRUE(write_run(numbered_run(), path("much.run")));
    sql("much.run", fmt::format("UPDATE links SET bytes_per_step = {}", value).c_str());
    EXPECT_EQ(read_error("much.run"), path("much.run") +
                                          ": the Run cannot be read: bytes_per_step: found " +
                                          told + "; allowed: a number up to 1e60");
  }
}

TEST_F(RunFile, AViewInATablesPlaceGivesNoMoreThanTheSizeOfTheFile) {
  ASSERT_TRUE(write_run(numbered_run(), path("endless.run")));
  sql("endless.run",
      "DROP TABLE links; CREATE VIEW links AS WITH RECURSIVE t(x) AS (SELECT 1 "
      "UNION ALL SELECT x + 1 FROM t) SELECT x, x, x, x, x, x FROM t");
  EXPECT_NE(read_error("endless.run"), "");
  Database db(path("endless.run"), Database::Access::kRead);
  Statement rows(db, "SELECT * FROM links");
  while (rows.step()) {}
  EXPECT_EQ(db.problem(), "it gives more rows than its size allows: it is damaged or made up");
  Database other(path("endless.run"), Database::Access::kRead);
  EXPECT_EQ(other.number("SELECT count(*) FROM links"), 0);
  EXPECT_EQ(other.problem(), "interrupted");
}

}  // namespace
}  // namespace ergometer::run
