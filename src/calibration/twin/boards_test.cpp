#include "calibration/twin/boards.h"

#include <gtest/gtest.h>

#include <sstream>

#include "calibration/twin/boards_output.h"
#include "calibration/twin/test_boards.h"
#include "calibration/twin/twin.h"
#include "calibration/twin/twin_output.h"
#include "physics/silicon.h"
#include "spec/catalog/read.h"

namespace ergometer::calibration::twin {
namespace {

using test::capped;
using test::fitted;
using test::has_note;
using test::recorded;
using test::spread;
using test::with;

TEST(Boards, TheTwinsFileHasTheSpread) {
  const spec::Job hidden = spread(2, 0.5);
  const run::DeviceLog log = recorded(hidden);
  const auto recording = recording_of({}, log, "recorded.run");
  ASSERT_TRUE(recording.has_value());
  const auto twin = fit_twin(*recording, capped("500W"), 1, log);
  ASSERT_TRUE(twin.has_value()) << twin.error().message;
  ASSERT_TRUE(twin->boards.has_value()) << twin->no_boards;
  const auto read =
      spec::parse_cluster(cluster_file(*twin, "charllm-h200", "recorded.run"), "c.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_NEAR(physics::silicon_spread(read->node.gpu).thermal_resistance,
              twin->boards->resistance_spread.value, 1e-4);
  EXPECT_GT(twin->boards->resistance_spread.value, 0.3);
}

TEST(Boards, SensorsThatWereNotReadAreNotBlamed) {
  run::DeviceLog log = recorded(capped("500W"));
  for (run::Device& device : log.devices)
    std::erase_if(device.series,
                  [](const run::Series& it) { return it.metric == run::Metric::kPower; });
  const Boards boards = fitted(log, capped("500W"));
  EXPECT_FALSE(has_note(boards, "gains of power sensors"));
  EXPECT_TRUE(has_note(boards, "no power was read"));
}

TEST(Boards, LinesFitATerminal) {
  spec::Job hidden = capped("500W");
  with(hidden, "node1.gpu6.resistance=3");
  std::istringstream text(to_text(fitted(recorded(hidden), capped("500W")), "recorded.run"));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Boards, TheTwinSaysWhyTheyAreNotTold) {
  run::DeviceLog log = recorded(capped("500W"));
  const auto recording = recording_of({}, log, "recorded.run");
  log.devices[3].index = 11;
  const auto twin = fit_twin(*recording, capped("500W"), 1, log);
  ASSERT_TRUE(twin.has_value());
  EXPECT_NE(twin->no_boards.find("found GPU 11 of b01"), std::string::npos) << twin->no_boards;
}

}  // namespace
}  // namespace ergometer::calibration::twin
