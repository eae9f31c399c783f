// What real sensors said, played back: every reading comes once, so that every update of a sensor
// is found once, and energy stays within 1 % of the meter beside it.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/telemetry/telemetry.h"
#include "import/import.h"
#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

constexpr const char* kData = ERGOMETER_SOURCE_DIR "/tests/data/";

/// Plays a file back, ten thousand times as fast or a row a read, into a log.
run::DeviceLog play(const std::string& path, double speed) {
  SourceOptions options;
  options.replay = path;
  options.replay_speed = speed;
  const auto source = open_replay(options);
  EXPECT_TRUE(source) << (source ? "" : source.error().message);
  run::DeviceLog log;
  if (!source) return log;
  const auto devices = (*source)->devices();
  log.devices.assign(devices.begin(), devices.end());
  while (!(*source)->finished()) {
    Batch batch;
    (*source)->read(batch);
    for (const Reading& reading : batch.readings) {
      run::Device& device = log.devices[reading.device];
      if (device.find(reading.metric) == nullptr)
        device.series.push_back({.metric = reading.metric, .partial = false, .samples = {}});
      for (run::Series& series : device.series)
        if (series.metric == reading.metric) series.samples.push_back(reading.sample);
    }
  }
  return log;
}

bool equal(const run::Sample& a, const run::Sample& b) {
  return a.time_ns == b.time_ns && a.value == b.value;
}

/// Every series as it was recorded, and of the power the same updates.
void expect_same(const run::DeviceLog& played, const std::string& path, int64_t updates) {
  const auto recorded = importer::read_telemetry({path}, {});
  ASSERT_TRUE(recorded);
  ASSERT_EQ(played.devices.size(), recorded->log.devices.size());
  for (size_t i = 0; i < played.devices.size(); ++i) {
    const run::Device& device = recorded->log.devices[i];
    ASSERT_EQ(played.devices[i].series.size(), device.series.size());
    for (const run::Series& series : device.series) {
      const run::Series* const again = played.devices[i].find(series.metric);
      ASSERT_NE(again, nullptr);
      EXPECT_TRUE(std::equal(series.samples.begin(), series.samples.end(), again->samples.begin(),
                             again->samples.end(), equal));
      if (series.metric != Metric::kPower) continue;
      const auto before = analysis::find_updates(series.samples);
      const auto after = analysis::find_updates(again->samples);
      EXPECT_EQ(after.distinct, before.distinct);
      EXPECT_EQ(after.distinct, updates);
      EXPECT_TRUE(std::equal(before.points.begin(), before.points.end(), after.points.begin(),
                             after.points.end(), equal));
    }
  }
}

struct Recorded {
  const char* file;
  int64_t updates;  ///< rows whose power differs from the row before, and the first
};
class ReplayUpdates : public ::testing::TestWithParam<Recorded> {};

TEST_P(ReplayUpdates, EachOnce) {
  const std::string path = std::string(kData) + GetParam().file;
  for (const double speed : {0.0, 1e4}) expect_same(play(path, speed), path, GetParam().updates);
}

INSTANTIATE_TEST_SUITE_P(RealSensors, ReplayUpdates,
                         ::testing::Values(Recorded{"telemetry/gpu-power-benchmark/a100.csv", 126},
                                           Recorded{"telemetry/gpu-power-benchmark/v100.csv", 935},
                                           Recorded{"telemetry/zeus/zeus_monitor_sample.csv", 9}));

/// Rows of numbers under a header.
std::vector<std::vector<double>> rows(const std::string& file) {
  std::ifstream in(std::string(kData) + "a100-square-wave/" + file);
  std::string line, cell;
  std::getline(in, line);
  std::vector<std::vector<double>> result;
  while (std::getline(in, line)) {
    std::stringstream cells(line);
    result.emplace_back();
    while (std::getline(cells, cell, ',')) result.back().push_back(std::stod(cell));
  }
  return result;
}

/// The A100 under a square wave: see tests/data/a100-square-wave/README.md.
TEST(ReplayEnergy, WithinOnePercentOfTheMeter) {
  constexpr int64_t kStart =
      1'689'325'966;  // seconds since 1970; the recording's clock begins at 0
  const FakeTree tree;
  std::string text = "timestamp, power.draw.instant [W]\n";
  for (const auto& row : rows("nvidia-smi.csv")) {
    const auto ms = std::llround(row[0] * 1e6);
    char line[80];
    std::snprintf(line, sizeof line, "%lld.%06lld, %.2f W\n",
                  static_cast<long long>(kStart + ms / 1'000'000),
                  static_cast<long long>(ms % 1'000'000), row[2]);
    text += line;
  }
  tree.write("nvidia-smi.csv", text);
  run::DeviceLog log = play(tree.path("nvidia-smi.csv"), 0);
  run::Device meter;
  meter.kind = run::DeviceKind::kMeter;
  meter.series.push_back({.metric = Metric::kPower, .partial = false, .samples = {}});
  for (const auto& row : rows("meter.csv"))
    meter.series[0].samples.push_back(
        {kStart * 1'000'000'000 + std::llround(row[0] * 1e9), row[1]});
  log.devices.push_back(meter);
  const auto report = analysis::analyze_telemetry(log);
  ASSERT_EQ(report.meters.size(), 1U);
  EXPECT_EQ(report.devices[0].updates.distinct, 126);
  EXPECT_NEAR(report.meters[0].meter_energy_j, 1130, 2);
  EXPECT_LT(std::abs(report.meters[0].corrected_error_pct), 1.0);
}

}  // namespace
}  // namespace ergometer::record
