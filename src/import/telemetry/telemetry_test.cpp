#include "import/telemetry/telemetry.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/test_support.h"
#include "import/import.h"
#include "import/telemetry/charllm_name.h"

namespace ergometer::importer {
namespace {

using run::Metric;

const std::string kTelemetryData = ERGOMETER_SOURCE_DIR "/tests/data/telemetry/";

run::DeviceLog parse(const std::string& text, const std::string& file = "t.csv",
                     bool repair = false) {
  return base::value_of(parse_telemetry(text, file, {.repair = repair}));
}

std::string telemetry_error(const std::string& text, const std::string& file = "t.csv") {
  return base::error_of(parse_telemetry(text, file, {}));
}

Telemetry telemetry_of(const std::vector<std::string>& paths) {
  return base::value_of(read_telemetry(paths, {}));
}

std::vector<double> values(const run::DeviceLog& log, size_t device, Metric metric) {
  std::vector<double> result;
  if (device >= log.devices.size()) return result;
  const run::Series* series = log.devices[device].find(metric);
  if (series == nullptr) return result;
  for (const run::Sample& sample : series->samples) result.push_back(sample.value);
  return result;
}

int64_t dropped_readings(const run::DeviceLog& log, std::string_view reason) {
  for (const run::Dropped& d : log.dropped)
    if (d.reason.find(reason) != std::string::npos) return d.count;
  return 0;
}

using Values = std::vector<double>;

TEST(NvidiaSmi, UnitsInCellsOrHeaderOrNowhere) {
  for (const char* text :
       {"timestamp, power.draw [W], temperature.gpu\n2023/07/14 10:12:46.483, 69.32 W, 37\n",
        "timestamp, power.draw [W], temperature.gpu\n2023/07/14 10:12:46.483, 69.32, 37\n",
        "timestamp,power.draw [mW],temperature.gpu\n2023/07/14 10:12:46.483,69320,37\n",
        "\xef\xbb\xbf"
        "timestamp,power.draw,temperature.gpu\r\n2023-07-14T10:12:46.483Z,69.32,37\r\n"}) {
    const run::DeviceLog log = parse(text);
    ASSERT_EQ(log.devices.size(), 1U) << text;
    EXPECT_DOUBLE_EQ(values(log, 0, Metric::kPower).at(0), 69.32) << text;
    EXPECT_EQ(values(log, 0, Metric::kGpuTemperature), Values{37});
    EXPECT_EQ(log.devices[0].series[0].samples[0].time_ns, 1689329566483000000);
    EXPECT_EQ(log.devices[0].rank, 0);
  }
}

TEST(NvidiaSmi, MissingReadingsAreCounted) {
  const run::DeviceLog log = parse(
      "timestamp, index, power.draw [W], fan.speed [%], temperature.memory\n"
      "2023/07/14 10:12:46.483, 0, 69.32 W, [N/A], N/A\n"
      "2023/07/14 10:12:47.483, 0, [Not Supported], [N/A], 40\n");
  EXPECT_EQ(values(log, 0, Metric::kPower), Values{69.32});
  EXPECT_EQ(values(log, 0, Metric::kMemoryTemperature), Values{40});
  EXPECT_EQ(dropped_readings(log, "fan.speed [%]: [N/A]"), 2);
  EXPECT_EQ(dropped_readings(log, "power.draw [W]: [Not Supported]"), 1);
}

TEST(NvidiaSmi, GpusByIndexAndByUuid) {
  const run::DeviceLog log = parse(
      "timestamp, index, uuid, name, power.draw [W]\n"
      "2023/07/14 10:12:46.483, 1, GPU-b, NVIDIA H100, 200\n"
      "2023/07/14 10:12:46.484, 0, GPU-a, NVIDIA H100, 100\n");
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[0].rank, 0);
  EXPECT_EQ(log.devices[0].uuid, "GPU-a");
  EXPECT_EQ(log.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(values(log, 1, Metric::kPower), Values{200});
}

/// Boards without a serial number, and one board of two GPUs, are not one GPU.
TEST(NvidiaSmi, ASerialNumberIsABoards) {
  for (const char* serial : {"[N/A]", "0", "1650522"}) {
    std::string text = "timestamp, serial, index, power.draw [W]\n";
    for (int gpu = 0; gpu < 2; ++gpu)
      text += std::string("2023/07/14 10:12:46.483, ") + serial + ", " + std::to_string(gpu) +
              ", " + std::to_string(100 * (gpu + 1)) + "\n";
    const run::DeviceLog log = parse(text);
    ASSERT_EQ(log.devices.size(), 2U) << serial;
    EXPECT_EQ(values(log, 1, Metric::kPower), Values{200});
  }
  EXPECT_EQ(parse("timestamp, serial, power.draw [W]\n1700000000, 7, 1\n1700000000, 8, 2\n")
                .devices.size(),
            2U);
  const run::DeviceLog of_bus = parse(
      "timestamp, uuid, pci.bus_id, power.draw [W]\n1700000000, [N/A], 00000000:17:00.0, 1\n"
      "1700000000, [N/A], 00000000:2A:00.0, 2\n");
  ASSERT_EQ(of_bus.devices.size(), 2U);
  EXPECT_EQ(of_bus.devices[0].uuid, "00000000:17:00.0");
}

TEST(NvidiaSmi, ALoopOverGpusWithoutTheirIndex) {
  std::string text = "timestamp, power.draw [W]\n";
  for (int round = 0; round < 5; ++round)
    for (int gpu = 0; gpu < 4; ++gpu)
      text += "2023/07/14 10:12:4" + std::to_string(round) + ".48" + std::to_string(gpu) + ", " +
              std::to_string(100 * (gpu + 1)) + "\n";
  const run::DeviceLog log = parse(text);
  ASSERT_EQ(log.devices.size(), 4U);
  EXPECT_EQ(values(log, 3, Metric::kPower), (Values{400, 400, 400, 400, 400}));
  EXPECT_NE(log.notes.at(0).find("taken as 4 GPUs"), std::string::npos);
}

TEST(NvidiaSmi, EventReasonsAsBitsAndAsColumns) {
  const run::DeviceLog bits = parse(
      "timestamp, clocks_throttle_reasons.active\n2023/07/14 10:12:46.483, 0x0000000000000024\n");
  EXPECT_EQ(values(bits, 0, Metric::kEventReasons), Values{0x24});
  const run::DeviceLog columns = parse(
      "timestamp, clocks_event_reasons.sw_power_cap, clocks_event_reasons.hw_thermal_slowdown\n"
      "2023/07/14 10:12:46.483, Active, Not Active\n2023/07/14 10:12:47.483, Active, Active\n");
  EXPECT_EQ(values(columns, 0, Metric::kEventReasons), (Values{0x4, 0x44}));
}

TEST(NvidiaSmi, WrongInputNamesLineColumnFoundAndAllowed) {
  const std::string header = "timestamp, power.draw [W]\n";
  EXPECT_EQ(telemetry_error(header + "2023/07/14 10:12:46.483, 1, 2\n2023/07/14 10:12:46.483, 1\n"),
            "t.csv:2: found 3 cells, allowed: 2, as in the header");
  EXPECT_EQ(telemetry_error(header + "2023/07/14 10:12:46.483, lots\n"),
            "t.csv:2: column 'power.draw [W]': found 'lots', allowed: a number in W, or [N/A]");
  EXPECT_EQ(telemetry_error(header + "2023/07/14 10:12:46.483, 5 MHz\n"),
            "t.csv:2: column 'power.draw [W]': found '5 MHz', allowed: a number in W, or [N/A]");
  EXPECT_NE(
      telemetry_error(header + "yesterday, 5\n").find("t.csv:2: column 'timestamp': found 'yester"),
      std::string::npos);
  EXPECT_NE(telemetry_error(header).find("allowed: a header and rows"), std::string::npos);
  EXPECT_NE(telemetry_error("index, power.draw [W]\n0, 5\n").find("no column of time"),
            std::string::npos);
}

TEST(NvidiaSmi, WhatNoSensorReadsIsDropped) {
  const run::DeviceLog log = parse(
      "timestamp, power.draw [W]\n2023/07/14 10:12:46.483, nan\n2023/07/14 10:12:47, 1e300\n"
      "2023/07/14 10:12:48, -1\n2023/07/14 10:12:49, 50\ntimestamp, power.draw [W]\n"
      "Unable to determine the device handle for GPU 0\n2023/07/14 10:12:5");
  EXPECT_EQ(values(log, 0, Metric::kPower), Values{50});
  EXPECT_EQ(dropped_readings(log, "not a number"), 1);
  EXPECT_EQ(dropped_readings(log, "outside what a sensor reads"), 2);
  EXPECT_EQ(dropped_readings(log, "the header once more"), 1);
  EXPECT_EQ(dropped_readings(log, "a line of text"), 1);
  EXPECT_EQ(dropped_readings(log, "cut off"), 1);
}

/// Milliwatts under a header that others write watts under.
TEST(Zeus, MilliwattsByTheirSize) {
  EXPECT_EQ(values(parse("Time,Power\n2026-01-02 03:00:00,32402\n2026-01-02 03:00:01,2900\n"), 0,
                   Metric::kPower),
            (Values{32.402, 2.9}));
  EXPECT_EQ(values(parse("Time,Power\n2026-01-02 03:00:00,300\n2026-01-02 03:00:01,700\n"), 0,
                   Metric::kPower),
            (Values{300, 700}));
}

TEST(Zeus, MonitorWindowsAndLimits) {
  const Telemetry monitor = telemetry_of({kTelemetryData + "zeus/zeus_monitor_sample.csv"});
  EXPECT_EQ(values(monitor.log, 0, Metric::kPower).size(), 19U);
  EXPECT_DOUBLE_EQ(values(monitor.log, 0, Metric::kPower).at(0), 32.402);
  const Telemetry windows = telemetry_of({kTelemetryData + "zeus/windows.csv"});
  ASSERT_EQ(windows.log.devices.size(), 4U);
  EXPECT_EQ(windows.log.devices[3].windows.size(), 9U);
  EXPECT_EQ(windows.log.devices[0].windows[0].start_ns, 13586410'284991832);
  EXPECT_EQ(windows.log.devices[0].windows[0].energy_j, 1067.512999996543);
  const Telemetry limits = telemetry_of({kTelemetryData + "zeus/power_limits.csv"});
  ASSERT_EQ(limits.log.power_limits.size(), 11U);
  EXPECT_EQ(limits.log.power_limits[0].limit_w, 300);
  EXPECT_EQ(limits.log.power_limits[0].energy_j, 6819.0174444439235);
  EXPECT_EQ(limits.log.power_limits[0].job.substr(0, 34), "model_name=bert-huge-uncased parti");
}

TEST(MlLog, NodesSwitchesPhases) {
  const Telemetry telemetry =
      telemetry_of({kTelemetryData + "mlperf/power", kTelemetryData + "mlperf/result_10.txt"});
  const run::DeviceLog& log = telemetry.log;
  ASSERT_EQ(log.devices.size(), 3U);
  EXPECT_EQ(log.devices[0].name, "node_1");
  EXPECT_EQ(log.devices[0].job, "result_10");
  EXPECT_EQ(values(log, 0, Metric::kPower).size(), 159U);
  EXPECT_EQ(log.devices[2].stated_power_w, 16100);
  ASSERT_EQ(log.training.size(), 1U);
  EXPECT_EQ(log.training[0].job, "result_10");
  EXPECT_EQ(log.training[0].global_batch, 8);
}

TEST(MlLog, WrongReadings) {
  const std::string start = ":::MLLOG {\"key\": \"power_reading\", \"time_ms\": 1715898650602, ";
  EXPECT_EQ(telemetry_error(start + "\"value\": \"much\"}\n", "n.txt"),
            "n.txt:1: power_reading: found '\"much\"', allowed: a number of watts");
  EXPECT_EQ(
      dropped_readings(parse(start + "\"value\": 5}\n" + start + "\n", "n.txt"), "no JSON object"),
      1);
  EXPECT_EQ(dropped_readings(parse(start + "\"value\": 1e300}\n", "n.txt"), "outside"), 1);
}

TEST(Prometheus, DcgmOldAndNewNames) {
  const run::DeviceLog log = parse(
      "# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W).\n"
      "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\",modelName=\"H100\",Hostname=\"n1\"} "
      "70.5 1689329566483\n"
      "DCGM_FI_DEV_BOARD_POWER_WATTS{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} 80 1689329566483\n"
      "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} 5000 "
      "1689329566483\n"
      "DCGM_FI_DEV_MEMORY_TEMP{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"n1\"} 9223372036854775794\n"
      "DCGM_FI_DEV_ENC_UTIL{gpu=\"0\",text=\"a \\\"quoted\\\" one\"} 0\n",
      "t.prom");
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(values(log, 0, Metric::kPower), Values{80});
  EXPECT_EQ(values(log, 0, Metric::kEnergy), Values{5});
  EXPECT_EQ(values(log, 1, Metric::kPower), Values{70.5});
  EXPECT_EQ(log.devices[1].series[0].samples[0].time_ns, 1689329566483000000);
  EXPECT_EQ(log.devices[1].name, "H100");
  EXPECT_EQ(dropped_readings(log, "no data"), 1);
  EXPECT_EQ(dropped_readings(log, "DCGM_FI_DEV_ENC_UTIL is no telemetry"), 1);
}

TEST(Prometheus, OpenMetricsStatesSeconds) {
  const run::DeviceLog log =
      parse("rocm_average_socket_power_watts{card=\"2\"} 300 1689329566.483\n# EOF\n", "t.prom");
  EXPECT_EQ(log.devices.at(0).series.at(0).samples.at(0).time_ns, 1689329566483000000);
  EXPECT_EQ(log.devices.at(0).rank, 2);
}

TEST(Prometheus, AnswersToQueries) {
  const std::string result =
      "[{\"metric\":{\"__name__\":\"DCGM_FI_DEV_POWER_USAGE\",\"gpu\":\"0\"},"
      "\"values\":[[1689329566.483,\"70.5\"],[1689329567,\"NaN\"],[1689329568,\"71\"]]}]";
  for (const std::string& text :
       {"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":" + result + "}}",
        result}) {
    const run::DeviceLog log = parse(text, "q.json");
    EXPECT_EQ(values(log, 0, Metric::kPower), (Values{70.5, 71}));
    EXPECT_EQ(log.devices[0].series[0].samples[0].time_ns, 1689329566483000000);
    EXPECT_EQ(dropped_readings(log, "not a number"), 1);
    EXPECT_NE(telemetry_error(text.substr(0, text.size() - 9), "q.json"), "");
  }
}

/// A file that lost its "# EOF" has seconds all the same: 10 s at 300 W, not 10 ms.
TEST(Prometheus, OpenMetricsThatWasCutOff) {
  const std::string name = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 300 ";
  for (const char* end : {"# EOF\n", "", "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 3"}) {
    const run::DeviceLog log =
        parse(name + "1689329566\n" + name + "1689329576.5\n" + end, "t.prom");
    const std::vector<run::Sample>& read = log.devices.at(0).series.at(0).samples;
    ASSERT_EQ(read.size(), 2U) << end;
    EXPECT_EQ(read[0].time_ns, 1'689'329'566'000'000'000) << end;
    EXPECT_EQ(read[1].time_ns, 1'689'329'576'500'000'000) << end;
    EXPECT_EQ(read[1].value, 300) << end;
  }
}

TEST(Prometheus, XpuTimer) {
  const Telemetry telemetry = telemetry_of({kTelemetryData + "xputimer/normal_metric_0.prom"});
  EXPECT_EQ(telemetry.log.gauges.size(), 170U);
  EXPECT_EQ(telemetry.log.gauges[0].rank, 2);
  EXPECT_EQ(telemetry.log.gauges[0].labels, "dtype=\"bf16\",level=\"7\",operation=\"Matmul\"");
}

TEST(CharLlm, MetricAndRankByName) {
  const run::DeviceLog log =
      parse("1689329566.5,52.0\n1689329566.55,-1\n1689329566.6,54\n", "run/gpu_power_12.csv");
  EXPECT_EQ(log.devices.at(0).rank, 12);
  EXPECT_EQ(values(log, 0, Metric::kInstantPower), (Values{52, 54}));
  EXPECT_EQ(dropped_readings(log, "(-1)"), 1);
}

TEST(CharLlm, CountersOver32Bits) {
  const std::string text = "1689329566,4294967000\n1689329567,704\n1689329568,1704\n";
  const run::DeviceLog kept = parse(text, "pcie_tx_bytes_0.csv");
  EXPECT_EQ(values(kept, 0, Metric::kPcieSent), (Values{4294967000, 704, 1704}));
  EXPECT_EQ(dropped_readings(kept, "went over 32 bits"), 1);
  const run::DeviceLog repaired = parse(text, "pcie_tx_bytes_0.csv", true);
  EXPECT_EQ(values(repaired, 0, Metric::kPcieSent), (Values{4294967000, 4294968000, 4294969000}));
}

TEST(CharLlm, NvlinkIsLink0) {
  const run::DeviceLog log =
      parse("1689329566,1\n1689329567,3\n", "nvlink_rx_throughput_3.csv", true);
  EXPECT_TRUE(log.devices.at(0).find(Metric::kNvlinkReceived)->partial);
  EXPECT_EQ(values(log, 0, Metric::kNvlinkReceived), (Values{1024, 3072}));
  EXPECT_NE(log.notes.at(0).find("link 0"), std::string::npos);
}

TEST(CharLlm, ACounterThatBeganAgainIsNoTurn) {
  // 2^32 - 1000 KiB in a second would be 4.4 TB/s over one link.
  const run::DeviceLog log = parse("1689329566,1000\n1689329567,2000\n1689329568,1000\n",
                                   "nvlink_tx_throughput_0.csv", true);
  EXPECT_EQ(values(log, 0, Metric::kNvlinkSent), (Values{1024000, 2048000, 1024000}));
  EXPECT_NE(log.notes.at(1).find("began again"), std::string::npos);
}

/// The folder's README works every number out.
TEST(CharLlm, AFolderWithEveryDefect) {
  const std::string folder = ERGOMETER_SOURCE_DIR "/tests/data/charllm/results";
  const auto recorded = read_recorded({folder}, {.repair = true, .nvlink_links = 18}, 1);
  ASSERT_TRUE(recorded) << recorded.error().message;
  const Telemetry* const telemetry = &recorded->telemetry;
  const auto find = [&](run::DeviceKind kind, int64_t index) -> const run::Device& {
    for (const run::Device& d : telemetry->log.devices)
      if (d.kind == kind && (kind == run::DeviceKind::kGpu ? d.rank : d.index) == index) return d;
    ADD_FAILURE() << run::kind_name(kind) << ' ' << index;
    return telemetry->log.devices.front();
  };
  const auto gained = [](const run::Series* series) {
    return series->samples.back().value - series->samples.front().value;
  };
  const run::Device& rank_0 = find(run::DeviceKind::kGpu, 0);
  EXPECT_DOUBLE_EQ(gained(rank_0.find(Metric::kPcieSent)), 12.0e9);
  EXPECT_DOUBLE_EQ(gained(rank_0.find(Metric::kNvlinkSent)), 4096000000);
  EXPECT_EQ(rank_0.find(Metric::kNvlinkSent)->links, 18);
  EXPECT_EQ(find(run::DeviceKind::kGpu, 3).find(Metric::kPower)->samples.size(), 9U);
  const run::Device& node = find(run::DeviceKind::kNode, 0);
  for (const run::Sample& sample : node.find(Metric::kCpuUtilization)->samples)
    EXPECT_NEAR(sample.value, 50, 1e-6);
  EXPECT_EQ(node.find(Metric::kMemoryUsed)->samples.front().value, 1099511627776.0);
  EXPECT_EQ(find(run::DeviceKind::kCpu, 0).find(Metric::kCpuTemperature)->samples.front().value,
            55);
  EXPECT_EQ(gained(find(run::DeviceKind::kPort, 0).find(Metric::kNetSent)), 16000);
  EXPECT_NE(telemetry->job_json.find(R"("ep": 8)"), std::string::npos);
  EXPECT_FALSE(recorded->traces.ranks.empty());
}

TEST(CharLlm, WithoutRepairWhatIsWrongIsLeftOut) {
  const auto telemetry = read_telemetry({ERGOMETER_SOURCE_DIR "/tests/data/charllm/results"}, {});
  ASSERT_TRUE(telemetry) << telemetry.error().message;
  EXPECT_EQ(telemetry->job_json, "");
  for (const run::Device& device : telemetry->log.devices)
    if (device.kind == run::DeviceKind::kNode) {
      EXPECT_EQ(device.find(Metric::kMemoryUsed), nullptr);
    }
  EXPECT_EQ(dropped_readings(telemetry->log, "holds the memory there is"), 9);
}

TEST(CharLlm, LabelsAreSwappedInH200TrainingAlone) {
  EXPECT_EQ(charllm_swapped_config("r/mixtral-8x7b/mixtral-8x7b_2_01000/gpu_power_0.csv").layout,
            "EP4-TP2-PP1-DP16");
  // Folders above the sweep's are the user's.
  for (const char* path : {"/h100/lora/inference/r/mixtral-8x7b/mixtral-8x7b_2_01000/x_0.csv",
                           "/home/lora/h200/mixtral-8x7b/mixtral-8x7b_2_01000/gpu_power_0.csv"})
    EXPECT_EQ(charllm_swapped_config(path).layout, "EP4-TP2-PP1-DP16") << path;
  for (const char* path : {"r/mixtral-8x22b/mixtral-8x22b_1_00000/gpu_power_0.csv",
                           "optimization-sweep-h100/mixtral-8x7b_1_00000/gpu_power_0.csv",
                           "/data/lora/mixtral-8x7b/mixtral-8x7b_1_mbs1/gpu_power_0.csv",
                           "lora/mixtral-8x7b_1_mbs1/gpu_power_0.csv", "gpu_power_0.csv", ""})
    EXPECT_EQ(charllm_swapped_config(path).name, "") << path;
}

TEST(CharLlm, NamesOfNodesFiles) {
  const CharllmNodeFile labelled = charllm_node_file("a/system_cpu_idle_rank_8_id_12.csv");
  EXPECT_EQ(labelled.metric, "cpu_idle");
  EXPECT_EQ(labelled.rank, 8);
  EXPECT_EQ(labelled.label, "12");
  EXPECT_EQ(charllm_node_file("system_memory_free_24.csv").rank, 24);
  for (const char* path :
       {"gpu_power_0.csv", "system_", "system_x.csv", "system_x_rank_y_id_0.csv"})
    EXPECT_EQ(charllm_node_file(path).metric, "") << path;
}

TEST(Telemetry, GzipFoldersAndTracesBeside) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "telemetry_test";
  fs::remove_all(folder);
  fs::create_directories(folder / "a");
  const std::string text = "timestamp, power.draw [W]\n2023/07/14 10:12:46.483, 5\n";
  gzFile packed = gzopen((folder / "a" / "smi.csv.gz").c_str(), "wb");
  gzwrite(packed, text.data(), static_cast<unsigned>(text.size()));
  gzclose(packed);
  std::ofstream(folder / "trace.json") << "{\"traceEvents\": []}";
  std::ofstream(folder / "broken.csv") << "timestamp, power.draw [W]\nx, 5\n";
  std::ofstream wide(folder / "wide.csv");
  wide << "\xff\xfe";
  for (const char c : text) wide << c << '\0';
  wide.close();
  EXPECT_EQ(values(telemetry_of({(folder / "wide.csv").string()}).log, 0, Metric::kPower),
            Values{5});
  const auto recorded = read_recorded({folder.string(), (folder / "trace.json").string()}, {}, 1);
  ASSERT_TRUE(recorded) << recorded.error().message;
  const Telemetry& telemetry = recorded->telemetry;
  EXPECT_TRUE(telemetry.any);
  EXPECT_EQ(values(telemetry.log, 0, Metric::kPower), Values{5});
  EXPECT_EQ(recorded->traces.ranks.size(), 2U);  // the folder's, and the file by itself
  EXPECT_EQ(dropped_readings(telemetry.log, "column 'timestamp': found 'x'"), 1);
  fs::remove_all(folder);
}

/// A step stands on the page until the next one ends; some keep no number of it.
TEST(Prometheus, StepsWithoutNumbers) {
  const auto log = parse_telemetry(
      "ergometer_step_seconds 0.5 1764190001000\nergometer_step_seconds 0.5 1764190002000\n"
      "ergometer_step_seconds 0.6 1764190003000\n",
      "page.prom", {});
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->training.size(), 1U);
  ASSERT_EQ(log->training[0].steps.size(), 2U);
  EXPECT_DOUBLE_EQ(log->training[0].steps[1].seconds, 0.6);
}

/// What was read before a bad line is kept, of steps and of reasons too.
TEST(Prometheus, ABadLineBehindStepsOrReasonsIsDropped) {
  for (const char* const first :
       {"ergometer_step_seconds 0.5\n",
        "ergometer_gpu_clock_event_reason{gpu=\"0\",reason=\"gpu_idle\"} 1\n"}) {
    const auto log = parse_telemetry(std::string(first) + "{bad\n", "page.prom", {});
    EXPECT_TRUE(log) << log.error().message;
  }
}

}  // namespace
}  // namespace ergometer::importer
