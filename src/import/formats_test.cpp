#include "import/formats.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <fstream>
#include <set>
#include <thread>

#include "base/test_support.h"
#include "import/import.h"

namespace ergometer::importer {
namespace {

std::string_view kind(std::string_view text) {
  const Format* const format = format_of(text);
  return format == nullptr ? "" : format->name;
}

TEST(Formats, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Format& format : formats()) EXPECT_TRUE(names.insert(format.name).second);
  EXPECT_EQ(names.size(), formats().size());
}

TEST(Formats, GraphsByTheWordsNearTheirStart) {
  EXPECT_EQ(kind(R"({"workload_graph": [)"), "a Chakra graph in JSON");
  EXPECT_EQ(kind(R"({ "schema": "1.0.1", "nodes": [)"), "a PyTorch execution trace");
  EXPECT_EQ(kind(R"({"1": {"total": 4, "fwd_start": [)"), "Primus' pipeline dump");
  EXPECT_EQ(kind(R"([{"name":"forward","ph":"B","ts":1,"args":{"iteration":1}})"),
            "MegaScan's timeline");
  EXPECT_EQ(kind(R"({"rocprofiler-sdk-tool": [)"), "a result of rocprofv3");
}

TEST(Formats, AnyOtherJsonMayBeAKinetoTrace) {
  for (const char* text : {R"([{"ph":"X","cat":"kernel","args":{"iteration":1}})",
                           R"({"schemaVersion": 1, "schema": 1, "nodes": 2)", "{}",
                           "\xef\xbb\xbf  {\"traceEvents\": ["})
    EXPECT_EQ(kind(text), "a Kineto trace") << text;
  EXPECT_EQ(kind("text with \"fwd_start\""), "");
}

TEST(Formats, Telemetry) {
  EXPECT_EQ(kind("timestamp, power.draw [W]\n2023/07/14 10:12:46.483, 5\n"), "a table of readings");
  EXPECT_EQ(kind("2023/07/14 10:12:46.483, 5\n"), "a table without its header");
  EXPECT_EQ(kind("# gpu   pwr\n# Idx     W\n    0    70\n"), "dmon's rows");
  EXPECT_EQ(kind("1689329566.483,5\n"), "CharLLM-PPT's pairs");
  EXPECT_EQ(kind(R"(:::MLLOG {"key": "power_reading"})"), "MLPerf's log");
  EXPECT_EQ(kind("# HELP DCGM_FI_DEV_POWER_USAGE Power draw\n"), "Prometheus' text");
  EXPECT_EQ(kind(R"({"data":{"resultType":"matrix"}})"), "Prometheus' answer");
  EXPECT_EQ(kind(R"({"header":{},"coll_perf":{}})"), "NCCL inspector's documents");
}

/// A log's line may begin as a list of JSON does.
TEST(Formats, ABracketBeginsListsAndLogs) {
  const std::string line = "[rank0]: begins\n";
  EXPECT_EQ(kind(line), "");
  EXPECT_EQ(kind(line + ":::MLLOG {\"key\": \"power_reading\"}"), "MLPerf's log");
  EXPECT_EQ(kind("[{\"ph\""), "a Kineto trace");
  EXPECT_EQ(format_of(line, Form::kJson)->name, "a Kineto trace");
}

TEST(Formats, KnownAndNotRead) {
  for (const std::string_view text : {"PK\x03\x04....", "BZh91",
                                      "\xfd"
                                      "7zXZ....",
                                      "kernel_name,calls\n"}) {
    const Format* const format = format_of(text);
    ASSERT_NE(format, nullptr) << text;
    EXPECT_EQ(format->read.index(), 0U) << text;
  }
}

TEST(Formats, OfNoKind) {
  EXPECT_EQ(kind(""), "");
  EXPECT_EQ(kind(" \n"), "");
  EXPECT_EQ(kind("notes of a run\n"), "");
  EXPECT_EQ(kind(std::string_view("\x01\0\x02\0", 4)), "");
}

/// Where files lie: in folders, archives and packed.
class FormatFiles : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) const {
    return temporary_.put(name, bytes);
  }
  std::string put_packed(const std::string& name, const std::string& bytes) const {
    const std::string path = temporary_.path(name);
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
  std::string folder() const { return temporary_.root().string(); }

 private:
  base::TestFolder temporary_;
};

/// A file in a tar archive: its header in POSIX's form and its bytes, in whole blocks.
std::string tar_entry(const std::string& name, const std::string& bytes) {
  constexpr size_t kBlock = 512;
  std::string header(kBlock, '\0');
  char size[12], checksum[8];
  std::snprintf(size, sizeof size, "%011zo", bytes.size());
  header.replace(0, name.size(), name).replace(124, 11, size, 11).replace(156, 1, "0");
  header.replace(257, 6, std::string("ustar\0", 6)).replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(checksum, sizeof checksum, "%06o", sum);
  header.replace(148, 7, std::string(checksum, 7));
  std::string padded = bytes;
  padded.resize((bytes.size() + kBlock - 1) / kBlock * kBlock);
  return header + padded;
}

const std::string kTrace =
    R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1}]})";
const std::string kReadings = "timestamp, power.draw [W]\n2023/07/14 10:12:46.483, 5\n";

TEST_F(FormatFiles, TracesAndTelemetryInOneArchive) {
  const std::string archive = tar_entry("smi.csv", kReadings) + tar_entry("README", "notes") +
                              tar_entry("._x", "an editor's") + tar_entry("rank-3.json", kTrace) +
                              std::string(1024, '\0');
  for (const std::string& path : {put("a.tar", archive), put_packed("b", archive)}) {
    const auto recorded = read_recorded({path}, {}, 2);
    ASSERT_TRUE(recorded) << recorded.error().message;
    ASSERT_EQ(recorded->traces.ranks.size(), 1U);
    EXPECT_EQ(recorded->traces.ranks[0].rank, 3);
    ASSERT_EQ(recorded->telemetry.log.devices.size(), 1U);
    ASSERT_EQ(recorded->traces.dropped.size(), 1U);
    EXPECT_EQ(recorded->traces.dropped[0].file, path + "/README");
    EXPECT_EQ(
        recorded->traces.dropped[0].reason,
        "is no trace, no telemetry and no log of Megatron-LM, NeMo, torchtitan, nanotron, "
        "DeepSpeed, Trainer, MaxText, LitGPT, Composer, OLMo or MLPerf: it begins with 'notes'");
  }
}

TEST_F(FormatFiles, WhatIsLeftOutBesideTelemetryIsItsLogs) {
  put("smi.csv", kReadings);
  put("notes.txt", "notes");
  put("other.json", R"({"nodes": 1})");
  const auto recorded = read_recorded({folder()}, {}, 1);
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_TRUE(recorded->traces.empty());
  ASSERT_EQ(recorded->telemetry.log.dropped.size(), 2U);
  EXPECT_EQ(recorded->telemetry.log.dropped[0].file, folder() + "/notes.txt");
  EXPECT_EQ(recorded->telemetry.log.dropped[1].file, folder() + "/other.json");
}

TEST_F(FormatFiles, AMarkMayStandFarDown) {
  const std::string far = std::string(2 * kHeadBytes, 'x') + "\n" +
                          R"(:::MLLOG {"key": "power_reading", "value": 5, "time_ms": 1})";
  const auto recorded = read_recorded({put("log", far)}, {}, 1);
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_EQ(recorded->telemetry.log.devices.size(), 1U);
}

TEST_F(FormatFiles, APathThatHoldsNothingIsAnError) {
  const std::string readings = put_packed("smi.csv.gz", kReadings), notes = put("notes", "notes");
  const auto one = read_recorded({readings}, {}, 1), both = read_recorded({readings, notes}, {}, 1);
  EXPECT_TRUE(one);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message,
            notes +
                ": is no trace, no telemetry and no log of Megatron-LM, NeMo, torchtitan, "
                "nanotron, DeepSpeed, Trainer, MaxText, LitGPT, Composer, OLMo or MLPerf: it "
                "begins with 'notes'");
  const auto telemetry = read_telemetry({readings, notes}, {});
  ASSERT_TRUE(telemetry) << telemetry.error().message;
  EXPECT_EQ(telemetry->log.devices.size(), 1U);
}

TEST_F(FormatFiles, TelemetryComesThroughAPipe) {
  const std::string path = folder() + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << kReadings; });
  const auto recorded = read_recorded({path}, {}, 1);
  writer.join();
  ASSERT_TRUE(recorded) << recorded.error().message;
  EXPECT_TRUE(recorded->telemetry.any);
}

}  // namespace
}  // namespace ergometer::importer
