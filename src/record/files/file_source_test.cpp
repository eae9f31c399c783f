#include "record/files/file_source.h"

#include <gtest/gtest.h>

#include "record/files/make_device.h"
#include "record/test_support.h"

namespace ergometer::record {
namespace {

using run::Metric;

TEST(KeptFile, IsReadAgainFromItsStart) {
  const FakeTree tree;
  tree.write("a", "12\n");
  KeptFile file(tree.path("a"));
  EXPECT_EQ(file.read(), "12\n");
  tree.write("a", "345\n");
  EXPECT_EQ(file.read(), "345\n");
}

TEST(KeptFile, ThatIsNotThereSaysSo) {
  KeptFile file("/nonexistent/file");
  EXPECT_FALSE(file.read());
  EXPECT_EQ(file.error_number(), ENOENT);
}

TEST(LeadingNumber, OfWhatTheKernelWrites) {
  EXPECT_EQ(leading_number("400 Gb/sec (4X NDR)\n"), 400);
  EXPECT_EQ(leading_number(" -1\n"), -1);
  EXPECT_EQ(leading_number("2.5 Gb/sec (1X SDR)"), 2.5);
  EXPECT_EQ(leading_number("18446744073709551615\n"), 18446744073709551615.0);
  EXPECT_FALSE(leading_number("N/A"));
  EXPECT_FALSE(leading_number(""));
  EXPECT_FALSE(leading_number("nan"));
}

TEST(Entries, NumbersBySize) {
  const FakeTree tree;
  for (const char* name : {"hwmon10/a", "hwmon2/a", "hwmon1/a"}) tree.write(name, "");
  EXPECT_EQ(entries(tree.path()), (std::vector<std::string>{"hwmon1", "hwmon2", "hwmon10"}));
  EXPECT_TRUE(entries("/nonexistent").empty());
}

FoundSensors two_sensors(const FakeTree& tree) {
  FoundSensors found;
  found.devices = {make_device(run::DeviceKind::kNode, "silent"),
                   make_device(run::DeviceKind::kNode, "here")};
  found.sensors.push_back({.device = 0, .metric = Metric::kPower, .files = {{tree.path("none")}}});
  found.sensors.push_back(
      {.device = 1, .metric = Metric::kPower, .files = {{tree.path("a")}, {tree.path("b"), 10}}});
  found.sensors.push_back({.device = 1,
                           .metric = Metric::kInletTemperature,
                           .files = {{tree.path("a")}, {tree.path("b")}},
                           .mean = true});
  return found;
}

TEST(FileSource, SumsMeansAndLeavesOutWhatIsSilent) {
  const FakeTree tree;
  tree.write("a", "3");
  tree.write("b", "5");
  const auto source = open_files({.name = "x", .none = "", .denied = ""}, two_sensors(tree), {});
  ASSERT_TRUE(source);
  ASSERT_EQ((*source)->devices().size(), 1U);
  EXPECT_EQ((*source)->devices()[0].name, "here");
  EXPECT_EQ(look(**source), (Look{{{0, Metric::kPower}, 53}, {{0, Metric::kInletTemperature}, 4}}));
}

TEST(FileSource, ADeviceThatVanishesIsNotedOnce) {
  const FakeTree tree;
  tree.write("a", "3");
  tree.write("b", "5");
  const auto source = open_files({.name = "x", .none = "", .denied = ""}, two_sensors(tree), {});
  ASSERT_TRUE(source);
  tree.write("a", "gone");
  Batch batch;
  (*source)->read(batch);
  (*source)->read(batch);
  EXPECT_TRUE(batch.readings.empty());
  ASSERT_EQ(batch.notes.size(), 1U);
  EXPECT_EQ(batch.notes[0], "x: here no longer answers: " + tree.path("a") +
                                ": holds no number; tried again every 10 s");
  // One look at opening, one before it was left alone, for each of two sensors.
  int64_t count = 0, failed = 0;
  for (const CallCost& cost : (*source)->costs()) {
    count += cost.count;
    failed += cost.failed;
  }
  EXPECT_EQ(count, 5);
  EXPECT_EQ(failed, 3);
}

TEST(FileSource, NoneAndNoneWanted) {
  const FakeTree tree;
  const auto none = open_files({.name = "x", .none = "no x here", .denied = ""}, {}, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, base::ErrorKind::kMissing);
  EXPECT_EQ(none.error().message, "no x here");
  SourceOptions options;
  options.metrics = {Metric::kLoad};
  const auto other =
      open_files({.name = "x", .none = "", .denied = ""}, two_sensors(tree), options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "gives none of the metrics asked for");
}

}  // namespace
}  // namespace ergometer::record
