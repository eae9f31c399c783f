#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

using run::Metric;

run::DeviceLog amd_json_log(std::string_view text, const TelemetryOptions& options = {}) {
  return base::value_of(parse_telemetry(text, "amd.json", options));
}
std::string amd_json_error(std::string_view text) {
  return base::error_of(parse_telemetry(text, "amd.json", {}));
}
std::vector<double> amd_json_values(const run::DeviceLog& log, size_t device, Metric metric) {
  std::vector<double> values;
  if (const run::Series* series = log.devices.at(device).find(metric))
    for (const run::Sample& sample : series->samples) values.push_back(sample.value);
  return values;
}
using Values = std::vector<double>;

/// `"card0": {...}` as rocm-smi prints it.
std::string rocm_card(int card, std::string_view edge, std::string_view power, int clock) {
  return fmt::format(
      "\"card{}\": {{\"Temperature (Sensor edge) (C)\": \"{}\", \"Average Graphics Package Power "
      "(W)\""
      ": \"{}\", \"sclk clock speed:\": \"({}Mhz)\"}}",
      card, edge, power, clock);
}

TEST(AmdJson, RocmSmiInALoopIsInRoundsOfTheSamplePeriod) {
  const std::string first =
      fmt::format("{{{}, {}, \"system\": {{\"Driver version\": \"6.8\"}}}}",
                  rocm_card(0, "51.0", "455.0", 1700), rocm_card(1, "53.0", "0.0", 1650));
  const std::string second = fmt::format("{{{}, {}}}", rocm_card(0, "52.0", "460.0", 1690),
                                         rocm_card(1, "N/A", "0.0", 1640));
  const run::DeviceLog log = amd_json_log(
      fmt::format("WARNING: AMD GPU device(s) is/are in a low-power state.\n{}\n{}", first, second),
      {.sample_period_s = 2, .sample_period_said = true});
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[1].index, 1);
  EXPECT_EQ(amd_json_values(log, 0, Metric::kPower), (Values{455, 460}));
  EXPECT_EQ(log.devices[0].find(Metric::kPower)->samples[1].time_ns, 2'000'000'000);
  EXPECT_EQ(amd_json_values(log, 1, Metric::kSmClock), (Values{1650, 1640}));
  EXPECT_EQ(amd_json_values(log, 1, Metric::kGpuTemperature), Values{53});
  EXPECT_EQ(log.devices[1].find(Metric::kPower), nullptr);
  ASSERT_EQ(log.notes.size(), 1U);
}

constexpr const char* kMetric =
    R"("usage": {"gfx_activity": {"value": 100, "unit": "%"}}, "power": {"socket_power": {"value":)"
    R"( 655, "unit": "W"}, "throttle_status": "UNTHROTTLED"}, "clock": {"gfx_0": {"clk": {"value")"
    R"(: 2100, "unit": "MHz"}, "min_clk": {"value": 500, "unit": "MHz"}}, "mem_0": {"clk": {)"
    R"("value": 1300, "unit": "MHz"}}}, "temperature": {"edge": "N/A", "hotspot": {"value": 71,)"
    R"( "unit": "C"}, "mem": {"value": 60, "unit": "C"}}, "pcie": {"width": [16, 16]}})";

TEST(AmdJson, AmdSmiSaysWhenWhileItWatches) {
  const std::string one = std::string(R"([{"timestamp": 1741082272, "gpu": 0, )") + kMetric + "]\n";
  std::string two = one;
  two.replace(two.find("272"), 3, "273").replace(two.find("655"), 3, "656");
  const run::DeviceLog log = amd_json_log(one + two);
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_EQ(amd_json_values(log, 0, Metric::kPower), (Values{655, 656}));
  EXPECT_EQ(log.devices[0].find(Metric::kPower)->samples[1].time_ns,
            int64_t{1741082273} * 1'000'000'000);
  EXPECT_EQ(amd_json_values(log, 0, Metric::kHotspotTemperature), (Values{71, 71}));
  EXPECT_EQ(amd_json_values(log, 0, Metric::kMemoryTemperature), (Values{60, 60}));
  EXPECT_EQ(amd_json_values(log, 0, Metric::kSmClock), (Values{2100, 2100}));
  EXPECT_EQ(amd_json_values(log, 0, Metric::kMemoryClock), (Values{1300, 1300}));
  EXPECT_EQ(amd_json_values(log, 0, Metric::kGpuUtilization), (Values{100, 100}));
  EXPECT_EQ(log.devices[0].find(Metric::kGpuTemperature), nullptr);
  EXPECT_TRUE(log.notes.empty());
}

TEST(AmdJson, ASnapshotIsOneRoundInEitherWrapping) {
  const std::string list =
      std::string(R"([{"gpu": 0, )") + kMetric + R"(, {"gpu": 1, )" + kMetric + "]";
  for (const std::string& text : {list, R"({"gpu_data": )" + list + "}"}) {
    const run::DeviceLog log = amd_json_log(text);
    ASSERT_EQ(log.devices.size(), 2U);
    EXPECT_EQ(amd_json_values(log, 1, Metric::kPower), Values{655});
  }
}

TEST(AmdJson, MonitorsMemIsHowBusyTheMemoryIs) {
  const run::DeviceLog log = amd_json_log(
      R"([{"gpu": 0, "power_usage": {"value": 140, "unit": "W"}, "memory_temperature": {"value": )"
      R"(60, "unit": "C"}, "mem": {"value": 33, "unit": "%"}}])");
  EXPECT_EQ(amd_json_values(log, 0, Metric::kMemoryTemperature), Values{60});
  EXPECT_EQ(amd_json_values(log, 0, Metric::kMemoryUtilization), Values{33});
}

TEST(AmdJson, ADocumentThatIsCutOffIsLeftOut) {
  const std::string one = std::string(R"([{"gpu": 0, )") + kMetric + "]\n";
  const run::DeviceLog log = amd_json_log(one + one.substr(0, 60));
  EXPECT_EQ(amd_json_values(log, 0, Metric::kPower), Values{655});
}

TEST(AmdJson, WrongInputNamesLineKeyFoundAndAllowed) {
  EXPECT_EQ(amd_json_error("{\"card0\": {\"GPU use (%)\": \"5\"}}\n"
                           "{\"card0\": {\"sclk clock speed:\": \"(fast)\"}}\n"),
            "amd.json:2: key 'sclk clock speed:': found 'fast', allowed: a number in MHz, or N/A");
  EXPECT_EQ(amd_json_error(R"([{"gpu": 0, "power": {"socket_power": {"value": 5, "unit": "C"}}}])"),
            "amd.json:1: key 'power.socket_power': found '5 C', allowed: a number in W, or N/A");
  EXPECT_EQ(amd_json_error(R"([{"timestamp": "soon", "gpu": 0, "gfx": 3}])"),
            "amd.json:1: key 'timestamp': found 'soon', allowed: seconds since 1970, or a time "
            "such as 2025-03-04T10:11:12");
  EXPECT_EQ(
      amd_json_error("[{\"gpu\": 0, \"gfx\": 3}]\n[{\"timestamp\": 1, \"gpu\": 0, \"gfx\": 3}]"),
      "amd.json:2: found documents with a timestamp and without, allowed: one kind in a file");
  EXPECT_EQ(amd_json_error(R"([{"gpu": 0, "gfx": 3}, {"gpu": "x"}])"),
            "amd.json:1: key 'gpu': found 'x', allowed: a GPU's number");
  EXPECT_NE(amd_json_error(R"([{"gpu": 0, "asic": {"market_name": "MI300X"}}])")
                .find("without a reading of power"),
            std::string::npos);
}

}  // namespace
}  // namespace ergometer::importer
