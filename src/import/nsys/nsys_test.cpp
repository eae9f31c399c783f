#include "import/nsys/nsys.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/test_support.h"
#include "import/import.h"

namespace ergometer::importer {
namespace {

namespace fs = std::filesystem;
using run::Database;
using Access = Database::Access;

const std::string kNsysData = ERGOMETER_SOURCE_DIR "/tests/data/nsys/";

/// A database file that a script makes, and that goes with the test.
class Export {
 public:
  explicit Export(const std::string& sql)
      : path_(
            (fs::temp_directory_path() / ("ergometer-nsys-" + std::to_string(getpid()))).string()) {
    fs::remove(path_);
    Database db(path_, Access::kCreate);
    db.execute(sql.c_str());
    EXPECT_TRUE(db.ok()) << db.problem();
  }
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  ~Export() { fs::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<std::vector<run::RankTrace>> nsys_of(const Export& from) {
  Database db(from.path(), Access::kRead);
  return read_nsys(db, "job.sqlite");
}

std::string nsys_error(const std::string& sql) {
  const Export from(sql);
  return base::error_of(nsys_of(from));
}

int64_t dropped_of_any(const std::vector<run::RankTrace>& traces, std::string_view reason) {
  for (const run::RankTrace& trace : traces)
    for (const run::Dropped& d : trace.dropped)
      if (d.reason == reason) return d.count;
  return 0;
}

/// A kernel table with these rows, and the names it needs.
std::string kernels(const std::string& rows) {
  return "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
         "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce');"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
         "globalPid, demangledName);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " +
         rows + ";";
}

/// The sums of a file's GPU events by SQL alone against those of what was read.
void hold_to_sql(const std::string& path, const std::vector<run::RankTrace>& traces) {
  constexpr std::array kTables = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                  "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
  Database db(path, Access::kRead);
  int64_t count = 0, total = 0;
  for (const std::string table : kTables) {
    if (!db.has_table(table)) continue;
    const std::string good =
        " FROM " + table +
        " WHERE typeof(start) = 'integer' AND end >= start AND abs(start) < 4611686018427387904";
    count += db.number(("SELECT count(*)" + good).c_str());
    total += db.number(("SELECT sum(end - start)" + good).c_str());
  }
  ASSERT_TRUE(db.ok()) << db.problem();
  int64_t read_count = 0, read_total = 0;
  for (const run::RankTrace& trace : traces) {
    for (const run::GpuEvent& event : trace.events) {
      ++read_count;
      read_total += event.duration_ns;
    }
  }
  EXPECT_GT(count, 0);
  EXPECT_EQ(read_count, count);
  EXPECT_EQ(read_total, total);
}

TEST(Nsys, AgreesWithSqlOnTheOldSchema) {
  const auto traces = read_recorded({kNsysData + "saxpy-mpi-cuda.sqlite.zst"}, {}, 1);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->traces.ranks.size(), 1U);
  const run::RankTrace& trace = traces->traces.ranks[0];
  // SELECT count(*), sum(end - start), and min(start), max(end) of kernels and copies.
  EXPECT_EQ(trace.events.size(), 20U);
  int64_t total = 0;
  for (const run::GpuEvent& event : trace.events) total += event.duration_ns;
  EXPECT_EQ(total, 373273080);
  EXPECT_EQ(trace.rank, 0);  // NVTX: "MPI Rank 0"
  EXPECT_EQ(trace.base_time_ns, 1687813257637297504);
  EXPECT_EQ(trace.gpu, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(trace.launches.size(), 20U);
  EXPECT_EQ(trace.names.at(trace.ranges.at(0).name), "MPI:MPI_Init");
}

TEST(Nsys, AgreesWithSqlOnTheNewSchema) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  hold_to_sql(from.path(), *traces);
}

TEST(Nsys, AGpuOfAProcessIsATraceWithItsRank) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), 2U);
  EXPECT_EQ(traces->at(0).rank, 1);
  EXPECT_EQ(traces->at(0).gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(traces->at(0).file, "job.sqlite (process 4242, GPU 0)");
  EXPECT_EQ(traces->at(1).rank, 0);
  EXPECT_EQ(traces->at(1).gpu, "NVIDIA H200");  // its device 0 is the node's 1
  EXPECT_EQ(dropped_of_any(*traces, "kernel that ends before it starts"), 1);
  EXPECT_EQ(dropped_of_any(*traces, "kernel whose start is no whole number in range"), 2);
  EXPECT_EQ(dropped_of_any(*traces, "NVTX range without an end"), 1);
  EXPECT_EQ(dropped_of_any(*traces, "range of a process without GPU work"), 1);
  EXPECT_EQ(dropped_of_any(*traces, "OSRT_API: not a GPU event"), 2);
}

TEST(Nsys, LaunchesAreTheProcesssOwn) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  for (const auto& [trace, start_ns] : {std::pair(0, 600), std::pair(1, 300)}) {
    for (const run::GpuEvent& event : traces->at(trace).events) {
      if (event.correlation != 11) continue;
      EXPECT_EQ(run::launch_of(traces->at(trace), event)->start_ns, start_ns);
    }
  }
}

TEST(Nsys, StepsAreRangesNamedSo) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->at(0).steps.size(), 2U);
  EXPECT_EQ(traces->at(0).steps[0].number, 1);
  EXPECT_EQ(traces->at(0).steps[0].start_ns, 350);
  EXPECT_EQ(traces->at(0).steps[1].end_ns, 5500);
  ASSERT_EQ(traces->at(1).steps.size(), 1U);
  EXPECT_EQ(traces->at(1).steps[0].number, 7);
  std::vector<std::string> names;
  for (const run::Range& range : traces->at(1).ranges)
    names.push_back(traces->at(1).names[range.name]);
  EXPECT_EQ(names, (std::vector<std::string>{"domain 4:lib", "step 7", "MPI:MPI_Barrier"}));
}

TEST(Nsys, CollectivesAreNcclsCallsAroundTheLaunch) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  const run::RankTrace& trace = traces->at(0);
  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives[0].name, "allreduce");
  EXPECT_EQ(trace.collectives[0].in_elements, 1048576);
  EXPECT_EQ(trace.collectives[0].group_size, 2);
  EXPECT_EQ(trace.collectives[0].group, "0x1234abcd");
  EXPECT_EQ(trace.collectives[1].name, "send");  // two of 4096 bytes in one group
  EXPECT_EQ(trace.collectives[1].in_elements, 8192);
}

TEST(Nsys, GpuMetricsAreTelemetry) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  const auto recorded = read_recorded({from.path()}, {}, 1);
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_FALSE(recorded->traces.ranks.empty());
  const Telemetry* const telemetry = &recorded->telemetry;
  ASSERT_EQ(telemetry->log.devices.size(), 2U);
  const run::Series* clock = telemetry->log.devices[0].find(run::Metric::kSmClock);
  ASSERT_NE(clock, nullptr);
  EXPECT_EQ(clock->samples[1].time_ns, 1750000000000100000);
  EXPECT_EQ(clock->samples[1].value, 1755);
  EXPECT_EQ(telemetry->log.devices[1].find(run::Metric::kSmClock)->samples[0].value, 1200);
  ASSERT_EQ(telemetry->log.gauges.size(), 2U);
  EXPECT_EQ(telemetry->log.gauges[0].value, 50);
}

TEST(Nsys, OldExportsHaveNoProcess) {
  const Export from(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, correlationId, shortName);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 5, 'gemm');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 281474976710657, 5)");
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(traces->at(0).names, std::vector<std::string>{"gemm"});
  EXPECT_EQ(traces->at(0).launches.size(), 1U);
  EXPECT_EQ(traces->at(0).base_time_ns, 0);
}

TEST(Nsys, TextInSixteenBits) {
  const Export from("PRAGMA encoding = 'UTF-16';" + kernels("(1, 2, 0, 7, 1, 0, 1)"));
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(traces->at(0).names, std::vector<std::string>{"gemm"});
}

TEST(Nsys, ARankOfSeveralGpusIsThatOfTheBusiest) {
  const Export from(kernels("(1, 2, 0, 7, 1, 16777216, 1), (3, 4, 1, 7, 2, 16777216, 1), "
                            "(5, 6, 1, 7, 3, 16777216, 1)") +
                    "CREATE TABLE MPI_RANKS (globalPid, rank);"
                    "INSERT INTO MPI_RANKS VALUES (16777216, 5)");
  const auto traces = nsys_of(from);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), 2U);
  EXPECT_EQ(traces->at(0).rank, -1);
  EXPECT_EQ(traces->at(1).rank, 5);
}

TEST(Nsys, SaysWhatIsMissing) {
  EXPECT_EQ(nsys_error("CREATE TABLE t (a)"),
            "job.sqlite: is an SQLite file, but neither a Run nor an export of Nsight Systems: it "
            "has none of the tables CUPTI_ACTIVITY_KIND_KERNEL, NVTX_EVENTS, StringIds, ...");
  EXPECT_EQ(nsys_error("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, deviceId)"),
            "job.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL: column 'end' is missing; found: start, "
            "deviceId");
  EXPECT_EQ(nsys_error("CREATE TABLE NVTX_EVENTS (start, end)"),
            "job.sqlite: table NVTX_EVENTS: column 'eventType' is missing; found: start, end");
  EXPECT_EQ(nsys_error("CREATE TABLE StringIds (id, text)"),
            "job.sqlite: table StringIds: column 'value' is missing; found: id, text");
}

TEST(Nsys, DamagedPagesAreAnError) {
  const Export from(text_of(kNsysData + "new-schema.sql"));
  std::string bytes = text_of(from.path());
  for (size_t at = 4096; at < bytes.size(); at += 7) bytes[at] = static_cast<char>(at);
  std::ofstream(from.path(), std::ios::binary) << bytes;
  const auto traces = nsys_of(from);
  ASSERT_FALSE(traces);
  EXPECT_NE(traces.error().message.find("cannot be read"), std::string::npos)
      << traces.error().message;
}

TEST(Nsys, AViewIsNoTable) {
  EXPECT_NE(
      nsys_error("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE t(x) AS (SELECT 1 "
                 "UNION ALL SELECT x FROM t) SELECT x AS start, x AS end, x AS deviceId FROM t")
          .find("none of the tables"),
      std::string::npos);
}

}  // namespace
}  // namespace ergometer::importer
