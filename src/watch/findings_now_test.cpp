#include "watch/findings_now.h"

#include <gtest/gtest.h>

#include "watch/test_jobs.h"

namespace ergometer::watch {
namespace {

using run::Metric;

std::vector<std::string> where(const std::vector<FindingNow>& findings, const std::string& kind) {
  for (const FindingNow& finding : findings)
    if (finding.kind == kind) return finding.where;
  return {};
}

TEST(FindingsNow, AJobAtWorkHasNone) { EXPECT_TRUE(FindingsNow().look(TestJob(8).at(1)).empty()); }

TEST(FindingsNow, HeldBackByReason) {
  TestJob job(4);
  job.set(1, Metric::kEventReasons, 0x4);         // sw_power_cap
  job.set(2, Metric::kEventReasons, 0x40 | 0x8);  // hw_thermal_slowdown, hw_slowdown
  job.set(3, Metric::kEventReasons, 0x2);         // a clock that its user set
  const auto found = FindingsNow().look(job.at(1));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(where(found, "throttled.sw_power_cap"), std::vector<std::string>{"node1 gpu 1"});
  EXPECT_EQ(where(found, "throttled.hw_slowdown"), std::vector<std::string>{"node1 gpu 2"});
  EXPECT_EQ(where(found, "throttled.hw_thermal_slowdown"), std::vector<std::string>{"node1 gpu 2"});
  EXPECT_EQ(found[0].text, "1 GPU is held back by sw_power_cap");
  EXPECT_EQ(found[0].grade, "fair");
  EXPECT_EQ(found[1].grade, "bad");
}

/// Of more than five GPUs five are named.
TEST(FindingsNow, CountsAllAndNamesAFew) {
  TestJob job(8);
  job.set_gpus(Metric::kTemperatureMargin, 3);
  job.set(0, Metric::kTemperatureMargin, 4);
  const auto found = FindingsNow().look(job.at(1));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "7 GPUs are within 3 K of slowing down for heat");
  EXPECT_EQ(found[0].where.size(), 5U);
}

/// The port had counted seven before anybody looked; what it counts then is told for ten minutes,
/// also where its node is heard no more.
TEST(FindingsNow, ErrorsAreRemembered) {
  TestJob job(1);
  FindingsNow findings;
  EXPECT_TRUE(findings.look(job.at(1)).empty());
  job.set(job.port, Metric::kNetErrors, 8);
  EXPECT_EQ(where(findings.look(job.at(2)), "errors"),
            std::vector<std::string>{"node1 port mlx5_0/1 (net_errors)"});
  const JobNow nobody{602 * TestJob::kSecondNs, {}, {}, {}};
  EXPECT_EQ(where(findings.look(nobody), "errors").size(), 1U);
  EXPECT_TRUE(findings.look(JobNow{603 * TestJob::kSecondNs, {}, {}, {}}).empty());
}

/// An Ethernet port is number 0 of its source, as the InfiniBand port of the same node is.
TEST(FindingsNow, PortsAreToldApartByName) {
  TestJob job(1);
  job.set(job.add(run::DeviceKind::kPort, "eno2"), Metric::kNetErrors, 2);
  FindingsNow findings;
  EXPECT_TRUE(findings.look(job.at(1)).empty());
  EXPECT_TRUE(findings.look(job.at(2)).empty());  // 7 and 2 errors, and no more
  job.set(job.port, Metric::kNetErrors, 8);
  EXPECT_EQ(where(findings.look(job.at(3)), "errors"),
            std::vector<std::string>{"node1 port mlx5_0/1 (net_errors)"});
}

}  // namespace
}  // namespace ergometer::watch
