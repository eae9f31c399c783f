#include <gtest/gtest.h>

#include <cmath>

#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {
namespace {

Measure share(const char* name, double value, std::optional<Group> group = {}) {
  return {.name = name, .unit = "", .value = value, .group = group};
}

Measure memory(double bytes) {
  return {"memory per GPU", "B", Scale::kRatio, kMemoryFactor, bytes, {}};
}

Measure heat(double celsius) {
  return {"temperature, mean", "C", Scale::kDegrees, kKelvins, celsius, {}};
}

Side side(std::vector<Measure> measures) {
  Side side;
  side.job.cluster.node.gpus = 8;
  side.job.gpus = 32;
  side.job.training.micro_batch = side.job.training.global_batch = 1;
  side.measures = std::move(measures);
  return side;
}

const Row& row(const std::vector<Row>& rows, const std::string& name) {
  for (const Row& each : rows)
    if (each.large.name == name) return each;
  throw std::out_of_range(name);
}

TEST(ProxyRows, DistanceCountsTolerances) {
  // Off by 6 points, by a factor of 1.25 and by 1.5 K: 2, 1 and 0.5 tolerances.
  const auto rows = rows_of(side({share("compute", 0.80), memory(100), heat(60)}),
                            side({share("compute", 0.74), memory(125), heat(61.5)}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NEAR(rows[0].off, 2, 1e-9);
  EXPECT_NEAR(rows[1].off, 1, 1e-9);
  EXPECT_NEAR(rows[2].off, 0.5, 1e-9);
  EXPECT_NEAR(distance_of(rows), std::sqrt(4 + 1 + 0.25), 1e-9);
  EXPECT_FALSE(rows[0].kept);
  EXPECT_TRUE(rows[2].kept);
  EXPECT_EQ(rows[0].lost, "6.0 points less");
  EXPECT_EQ(lost_shares(rows), 1U);
}

TEST(ProxyRows, EqualJobsAreNoDistanceApart) {
  const Side one = side({share("compute", 0.9), share("dp all-reduce", 0.1, Group{4, 4})});
  const auto rows = rows_of(one, one);
  EXPECT_EQ(distance_of(rows), 0);
  EXPECT_EQ(lost_shares(rows), 0U);
  for (const Row& each : rows) EXPECT_EQ(each.lost, "");
}

TEST(ProxyRows, AnotherKindOfLinkIsNotTheSameCollective) {
  const auto rows = rows_of(side({share("tp all-gather", 0.1, Group{16, 2})}),
                            side({share("tp all-gather", 0.1, Group{8, 1})}));
  EXPECT_EQ(rows[0].off, 0);
  EXPECT_FALSE(rows[0].kept);
  EXPECT_EQ(rows[0].lost, "16 ranks over 2 nodes become 8 ranks inside a node");
  EXPECT_NEAR(distance_of(rows), 1, 1e-9);
}

TEST(ProxyRows, ACollectiveThatIsGoneCountsAsTwoTolerances) {
  // 1.5 points less: 0.5 tolerances; gone: 4.
  const auto rows = rows_of(side({share("dp all-reduce", 0.015, Group{16, 16})}), side({}));
  EXPECT_FALSE(rows[0].kept);
  EXPECT_NEAR(distance_of(rows), std::sqrt(0.25 + 4), 1e-9);
  EXPECT_EQ(rows[0].lost, "16 ranks over 16 nodes: none is left in tp 1 x pp 1 x dp 1");
}

TEST(ProxyRows, GroupsOfMoreNodesThanThereAreCannotBeKept) {
  const auto rows = rows_of(side({share("dp all-reduce", 0.02, Group{128, 128})}),
                            side({share("dp all-reduce", 0.02, Group{4, 4})}));
  EXPECT_TRUE(rows[0].kept);
  EXPECT_EQ(rows[0].lost,
            "128 ranks over 128 nodes cannot be kept on 4 nodes: 4 ranks over 4 nodes");
}

TEST(ProxyRows, ACollectiveOfTheSmallJobAloneStandsBeforeTheOptimizer) {
  const auto rows = rows_of(side({share("compute", 0.9), share("optimizer", 0.1)}),
                            side({share("compute", 0.8), share("cp all-gather", 0.1, Group{2, 1}),
                                  share("optimizer", 0.1)}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].large.name, "cp all-gather");
  EXPECT_EQ(row(rows, "cp all-gather").large.value, 0);
  EXPECT_FALSE(rows[1].kept);
}

TEST(ProxyRows, WhatHardlyTakesTimeIsToldAndNotWeighed) {
  const auto rows = rows_of(side({share("embedding all-reduce", 0.0005, Group{2, 2})}), side({}));
  EXPECT_FALSE(rows[0].kept);
  EXPECT_EQ(lost_shares(rows), 0U);
  EXPECT_LT(distance_of(rows), 0.02);
}

}  // namespace
}  // namespace ergometer::study::proxy
