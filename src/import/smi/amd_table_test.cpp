#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

using run::Metric;

run::DeviceLog amd_of(std::string_view text, const TelemetryOptions& options = {}) {
  return base::value_of(parse_telemetry(text, "amd.csv", options));
}
std::string amd_error(std::string_view text) {
  return base::error_of(parse_telemetry(text, "amd.csv", {}));
}
std::vector<double> amd_values(const run::DeviceLog& log, size_t device, Metric metric) {
  std::vector<double> values;
  if (const run::Series* series = log.devices.at(device).find(metric))
    for (const run::Sample& sample : series->samples) values.push_back(sample.value);
  return values;
}
using Doubles = std::vector<double>;

constexpr const char* kRocmHead =
    "device,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),sclk clock speed:,sclk "
    "clock level:,Average Graphics Package Power (W),GPU use (%)\n";

TEST(AmdTable, RocmSmiInALoopIsInRoundsOfTheSamplePeriod) {
  const std::string round1 = std::string(kRocmHead) +
                             "card0,51.0,62.0,(1700Mhz),8,455.0,100\n"
                             "card1,53.0,72.0,(1650Mhz),8,0.0,100\n\n";
  const std::string round2 = "WARNING: AMD GPU device(s) is/are in a low-power state.\n" +
                             std::string(kRocmHead) +
                             "card0,52.0,63.0,(1690Mhz),8,460.0,99\n"
                             "card1,53.0,73.0,(1640Mhz),8,N/A,99\n";
  const run::DeviceLog log =
      amd_of(round1 + round2, {.sample_period_s = 2, .sample_period_said = true});
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[1].index, 1);
  EXPECT_EQ(amd_values(log, 0, Metric::kPower), (Doubles{455, 460}));
  EXPECT_EQ(log.devices[0].find(Metric::kPower)->samples[1].time_ns, 2'000'000'000);
  EXPECT_EQ(amd_values(log, 1, Metric::kHotspotTemperature), (Doubles{72, 73}));
  EXPECT_EQ(amd_values(log, 1, Metric::kSmClock), (Doubles{1650, 1640}));
  // The module's other die has no meter of its own.
  EXPECT_EQ(log.devices[1].find(Metric::kPower), nullptr);
  ASSERT_EQ(log.notes.size(), 1U);
  EXPECT_NE(log.notes[0].find("2 s apart, as --sample-period says"), std::string::npos);
}

TEST(AmdTable, AmdSmiSaysWhenWhileItWatches) {
  const run::DeviceLog log = amd_of(
      "timestamp,gpu,gfx_activity,umc_activity,socket_power,throttle_status,edge,hotspot,mem,"
      "gfx_0_clk\n"
      "1741082272,0,100,40,655,UNTHROTTLED,N/A,71,60,2100\n"
      "1741082273,0,99,41,656,UNTHROTTLED,N/A,72,61,2090\n");
  ASSERT_EQ(log.devices.size(), 1U);
  EXPECT_EQ(log.devices[0].find(Metric::kPower)->samples[1].time_ns,
            int64_t{1741082273} * 1'000'000'000);
  EXPECT_EQ(amd_values(log, 0, Metric::kHotspotTemperature), (Doubles{71, 72}));
  EXPECT_EQ(amd_values(log, 0, Metric::kMemoryTemperature), (Doubles{60, 61}));
  EXPECT_EQ(amd_values(log, 0, Metric::kMemoryUtilization), (Doubles{40, 41}));
  EXPECT_EQ(log.devices[0].find(Metric::kGpuTemperature), nullptr);
  EXPECT_TRUE(log.notes.empty());
}

TEST(AmdTable, MemOfTheMonitorIsHowBusyTheMemoryIs) {
  const run::DeviceLog log = amd_of(
      "timestamp,gpu,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx,mem\n"
      "1741082272,0,655,71,60,2100,100,33\n");
  EXPECT_EQ(amd_values(log, 0, Metric::kMemoryTemperature), Doubles{60});
  EXPECT_EQ(amd_values(log, 0, Metric::kMemoryUtilization), Doubles{33});
}

TEST(AmdTable, TablesInTurnAreOneRound) {
  const run::DeviceLog log = amd_of(
      "device,GPU use (%)\ncard0,90\ndevice,sclk clock speed:\ncard0,(1700Mhz)\n"
      "device,GPU use (%)\ncard0,91\ndevice,sclk clock speed:\ncard0,(1690Mhz)\n");
  EXPECT_EQ(log.devices[0].find(Metric::kGpuUtilization)->samples[1].time_ns, 1'000'000'000);
  EXPECT_EQ(log.devices[0].find(Metric::kSmClock)->samples[1].time_ns, 1'000'000'000);
}

TEST(AmdTable, OfTwoWaysToTellTheSameTheFirstCounts) {
  const run::DeviceLog log = amd_of(
      "device,Average Graphics Package Power (W),Current Socket Graphics Package Power (W)\n"
      "card0,300,455\n");
  EXPECT_EQ(amd_values(log, 0, Metric::kPower), Doubles{300});
}

TEST(AmdTable, WrongInputNamesLineColumnFoundAndAllowed) {
  EXPECT_EQ(amd_error("device,sclk clock speed:\ncard0,(fast)\n"),
            "amd.csv:2: column 'sclk clock speed:': found 'fast', allowed: a number in MHz, or "
            "N/A");
  EXPECT_EQ(amd_error("device,GPU use (%)\nnode7,3\n"),
            "amd.csv:2: column 'device': found 'node7', allowed: a GPU's number, or card0");
  EXPECT_EQ(amd_error("device,GPU use (%)\ncard0,3,4\ncard0,3\n"),
            "amd.csv:2: found 3 cells, allowed: 2, as in the head");
  EXPECT_EQ(amd_error("timestamp,gpu,power_usage\nsoon,0,3\n1,0,3\n"),
            "amd.csv:2: column 'timestamp': found 'soon', allowed: seconds since 1970, or a time "
            "such as 2025-03-04T10:11:12");
  EXPECT_EQ(amd_error("timestamp,gpu,gfx\n1,0,3\ngpu,gfx\n0,4\n"),
            "amd.csv:3: found tables with a timestamp and without, allowed: one kind in a file");
  EXPECT_EQ(amd_error("device,GPU use (%)\n"),
            "amd.csv: found a head of rocm-smi or amd-smi, allowed: a head and rows below it");
}

}  // namespace
}  // namespace ergometer::importer
