#include <gtest/gtest.h>

#include "base/test_support.h"
#include "import/telemetry/telemetry.h"

namespace ergometer::importer {
namespace {

using run::Metric;

run::DeviceLog dmon_of(std::string_view text, const TelemetryOptions& options = {}) {
  return base::value_of(parse_telemetry(text, "dmon.txt", options));
}
std::string dmon_error(std::string_view text) {
  return base::error_of(parse_telemetry(text, "dmon.txt", {}));
}
const std::vector<run::Sample>& readings(const run::DeviceLog& log, size_t device, Metric metric) {
  return log.devices.at(device).find(metric)->samples;
}

TEST(Dmon, RoundsWithoutATimeAreAPeriodApart) {
  const char* const text =
      "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n"
      "# Idx      W      C      C      %      %    MHz    MHz\n"
      "    0    310     62      -     99     40   2619   1980\n"
      "    1    300     60      -     98     40   2619   1965\n"
      "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n"
      "# Idx      W      C      C      %      %    MHz    MHz\n"
      "    0    312     63      -     99     40   2619   1950\n"
      "    1    305     61      -     98     40   2619   1965\n";
  const run::DeviceLog log = dmon_of(text);
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(log.devices[1].index, 1);
  EXPECT_EQ(readings(log, 0, Metric::kPower)[1].time_ns, 1'000'000'000);
  EXPECT_EQ(readings(log, 0, Metric::kSmClock)[1].value, 1950);
  EXPECT_EQ(readings(log, 1, Metric::kGpuUtilization)[0].value, 98);
  EXPECT_EQ(log.devices[0].find(Metric::kMemoryTemperature), nullptr);
  ASSERT_EQ(log.notes.size(), 1U);
  EXPECT_NE(log.notes[0].find("1 s apart, dmon's default"), std::string::npos);
  const run::DeviceLog slow = dmon_of(text, {.sample_period_s = 10, .sample_period_said = true});
  EXPECT_EQ(readings(slow, 0, Metric::kPower)[1].time_ns, 10'000'000'000);
  EXPECT_NE(slow.notes.at(0).find("as --sample-period says"), std::string::npos);
}

// 2024-02-29 00:00:00 UTC is 1,709,164,800 s after 1970 began.
TEST(Dmon, DatesTimesAndCommas) {
  const run::DeviceLog log = dmon_of(
      "#Date, Time, gpu, pwr, fb\n#YYYYMMDD, HH:MM:SS, Idx, W, MB\n"
      "20240229, 00:00:05, 3, 310, 1024\n");
  EXPECT_EQ(readings(log, 0, Metric::kPower)[0].time_ns, 1'709'164'805'000'000'000);
  EXPECT_EQ(readings(log, 0, Metric::kMemoryUsed)[0].value, 1024.0 * 1024 * 1024);
  EXPECT_TRUE(log.notes.empty());
  const run::DeviceLog night =
      dmon_of("#Time gpu pwr\n#HH:MM:SS Idx W\n23:59:59 0 1\n00:00:00 0 2\n");
  EXPECT_EQ(
      readings(night, 0, Metric::kPower)[1].time_ns - readings(night, 0, Metric::kPower)[0].time_ns,
      1'000'000'000);
}

// 50 % of the second before the second row, all of the one before the third.
TEST(Dmon, ViolationsAddUpToTime) {
  const run::DeviceLog log = dmon_of("# gpu pviol tviol\n# Idx % bool\n0 100 1\n0 50 0\n0 100 1\n");
  EXPECT_DOUBLE_EQ(readings(log, 0, Metric::kSwPowerCapTime).at(0).value, 0);
  EXPECT_DOUBLE_EQ(readings(log, 0, Metric::kSwPowerCapTime).at(1).value, 0.5);
  EXPECT_DOUBLE_EQ(readings(log, 0, Metric::kSwPowerCapTime).at(2).value, 1.5);
  EXPECT_DOUBLE_EQ(readings(log, 0, Metric::kSwThermalTime).at(2).value, 1);
}

TEST(Dmon, OfDcgmi) {
  const run::DeviceLog log = dmon_of(
      "#Entity   POWER   TMPTR   SMCLK   GPUTL   FBUSD   TENSO\n"
      "ID            W       C     MHz                       \n"
      "GPU 0     310.5      62    1980      99    1024   0.412\n"
      "GPU-I 0     N/A     N/A     N/A     N/A     N/A   0.412\n"
      "GPU 1     300.0     N/A    1965      98    1024   0.411\n"
      "GPU 0     311.5      62    1980      99    1024   0.412\n");
  ASSERT_EQ(log.devices.size(), 2U);
  EXPECT_EQ(readings(log, 0, Metric::kPower).at(1).value, 311.5);
  EXPECT_EQ(readings(log, 0, Metric::kPower).at(1).time_ns, 1'000'000'000);
  EXPECT_EQ(log.devices[1].find(Metric::kGpuTemperature), nullptr);
}

TEST(Dmon, WhatIsWrong) {
  EXPECT_EQ(dmon_error("# gpu pwr\n# Idx W\n"),
            "dmon.txt:1: found a head, allowed: a head and rows below it");
  EXPECT_EQ(dmon_error("# gpu pwr\n# Idx W\n0 1 2\n"),
            "dmon.txt:3: found 3 columns, allowed: 2, as in the head");
  EXPECT_EQ(dmon_error("# gpu pwr\n# Idx W\n0 hot\n"),
            "dmon.txt:3: column 'pwr': found 'hot', allowed: a number, or - or N/A where there is "
            "none");
  EXPECT_EQ(dmon_error("# gpu pwr\n# Idx W\nx 1\n"),
            "dmon.txt:3: column 'gpu': found 'x', allowed: a GPU's index");
  EXPECT_EQ(dmon_error("#Date Time gpu pwr\n#a b c d\n2024 10:00:00 0 1\n"),
            "dmon.txt:3: column 'Date': found '2024', allowed: a date as YYYYMMDD");
  EXPECT_EQ(dmon_error("#Date Time gpu pwr\n#a b c d\n20240231x 10:00:00 0 1\n"),
            "dmon.txt:3: column 'Date': found '20240231x', allowed: a date as YYYYMMDD");
  EXPECT_EQ(dmon_of("# gpu pwr\n# Idx W\n0 1\n0").dropped.at(0).reason,
            "a row that is cut off at the end of the file");
}

}  // namespace
}  // namespace ergometer::importer
