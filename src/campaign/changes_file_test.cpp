#include "campaign/changes_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/test_support.h"
#include "spec/resolve/test_jobs.h"

namespace ergometer::campaign {
namespace {

std::vector<Change> changes_in(const std::string& lines) {
  return base::value_of(parse_changes("changes:\n" + lines, "changes.yaml"));
}

std::string refusal_of(const std::string& lines) {
  return base::error_of(parse_changes("changes:\n" + lines, "changes.yaml"));
}

TEST(Changes, AreTimesAndSettings) {
  const auto changes = changes_in(
      "  - {at: 2 h, cluster_cap: 9 kW}\n"
      "  - {at: 30 min, until: 4 h, name: pump, override: [node1.fan=50%, node1.inlet=40C]}\n");
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].name, "pump");  // by time
  EXPECT_EQ(changes[0].at_s, 1800);
  EXPECT_EQ(changes[0].until_s, 14'400);
  EXPECT_EQ(changes[1].name, "cluster_cap 9 kW");
  EXPECT_TRUE(std::isinf(changes[1].until_s));
}

TEST(Changes, SayWhatIsWrong) {
  EXPECT_EQ(refusal_of("  - {at: 2 h, tp: 4}\n"),
            "changes.yaml:2: changes[0].tp: is not a known key; allowed: at, until, name, inlet_c, "
            "fan, power_cap, lock_clock, cluster_cap, power_smoothing, override");
  EXPECT_EQ(refusal_of("  - {at: 2 h, until: 1 h, fan: 50%}\n"),
            "changes.yaml:2: changes[0].until: found \"1 h\"; allowed: a time behind `at`, 2 h");
  EXPECT_EQ(refusal_of("  - {at: 2 h, override: []}\n"),
            "changes.yaml:2: changes[0].at: nothing changes; say inlet_c, fan, power_cap, "
            "cluster_cap or override");
}

/// 0 - A - 1 h - AB - 3 h - B - 4 h - - 8 h.
TEST(Stretches, AreCutAtEveryChange) {
  const auto stretches =
      base::value_of(stretches_of({},
                                  changes_in("  - {at: 0, until: 3 h, name: A, inlet_c: 30}\n"
                                             "  - {at: 1 h, until: 4 h, name: B, inlet_c: 35}\n"),
                                  28'800, "changes.yaml"));
  ASSERT_EQ(stretches.size(), 4U);
  EXPECT_EQ(stretches[0].seconds(), 3600);
  EXPECT_EQ(stretches[1].changes, (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(stretches[1].settings.find("inlet_c")->text, "35");  // the later one counts
  EXPECT_EQ(stretches[2].seconds(), 3600);
  EXPECT_EQ(stretches[3].from_s, 14'400);
  EXPECT_EQ(stretches[3].settings.find("inlet_c"), nullptr);
}

TEST(Stretches, AddUpOverridesOfUnlikeTargets) {
  const spec::Settings job =
      spec::test::settings_of({{"override", "node0.inlet=30C,node1.inlet=31C"}});
  const auto stretches = base::value_of(
      stretches_of(job, changes_in("  - {at: 0, override: [node1.inlet=40C, node1.fan=50%]}\n"),
                   3600, "changes.yaml"));
  ASSERT_EQ(stretches.size(), 1U);
  EXPECT_EQ(stretches[0].settings.find("override")->text,
            "node0.inlet=30C,node1.inlet=40C,node1.fan=50%");
}

TEST(Stretches, EndWithTheRun) {
  EXPECT_EQ(base::error_of(
                stretches_of({}, changes_in("  - {at: 9 h, fan: 50%}\n"), 28'800, "changes.yaml")),
            "changes.yaml:2: at: found 9.00 h; allowed: before the end of the run, 8.00 h");
}

}  // namespace
}  // namespace ergometer::campaign
