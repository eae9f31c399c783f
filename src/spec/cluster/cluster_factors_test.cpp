#include "spec/cluster/cluster_factors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "spec/catalog/read.h"
#include "spec/cluster/parameter_table.h"

namespace ergometer::spec {
namespace {

Cluster h100() { return base::value_of(read_cluster("hgx-h100")); }

std::string refusal(const std::string& measured) {
  return base::error_of(parse_cluster("extends: hgx-h100\nmeasured: " + measured, "twin.yaml"));
}

constexpr const char* kHead =
    "{software: a, precision: bf16, kind: dense, gpus: 8, nodes: 1, form: 0.02, covariance: ";

TEST(ClusterFactors, HoldKnownParametersOnceEach) {
  std::vector<std::string_view> seen;
  for (const ClusterFactor& factor : cluster_factors())
    for (const std::string_view name : factor.parameters) {
      if (name.empty()) continue;
      EXPECT_EQ(std::ranges::count(seen, name), 0) << name;
      seen.push_back(name);
      EXPECT_TRUE(std::ranges::any_of(parameter_table(), [&](const ParameterInfo& info) {
        return info.name == name;
      })) << name;
    }
}

TEST(ClusterFactors, MoveTheirParametersTogetherAndInsideTheirRange) {
  Cluster cluster = h100();
  const Cluster before = cluster;
  scale(cluster, *find_cluster_factor("attention"), 1.1);
  scale(cluster, *find_cluster_factor("gemm"), 2);
  scale(cluster, *find_cluster_factor("host"), 1.5);
  scale(cluster, *find_cluster_factor("node links"), 0.5);
  const auto ratio = [&](const char* name) {
    return cluster.node.gpu.parameters.at(name) / before.node.gpu.parameters.at(name);
  };
  EXPECT_DOUBLE_EQ(ratio("attention.forward"), 1.1);
  EXPECT_DOUBLE_EQ(ratio("attention.backward"), 1.1);
  EXPECT_DOUBLE_EQ(cluster.node.gpu.parameters.at("gemm.efficiency"), 1);
  EXPECT_DOUBLE_EQ(ratio("memory.efficiency"), 1);
  EXPECT_DOUBLE_EQ(cluster.node.parameters.at("host.factor"), 1.5);
  EXPECT_DOUBLE_EQ(cluster.node.parameters.at("collective.ring_bandwidth"),
                   before.node.parameters.at("collective.ring_bandwidth") / 2);
}

TEST(ClusterFactors, EvidenceIsReadAndGoesWithThePartsItIsOf) {
  const std::string twin = std::string("{extends: hgx-h100, measured: ") + kHead +
                           "{gemm: [0.0004], network: [-0.0001, 0.01]}}}";
  const auto cluster = parse_cluster(twin, "twin.yaml");
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  ASSERT_TRUE(cluster->measured.has_value());
  EXPECT_EQ(cluster->measured->factors, (std::vector<std::string>{"gemm", "network"}));
  EXPECT_DOUBLE_EQ(cluster->measured->covariance[1][0], -0.0001);
  const auto wider = parse_cluster("{nodes: 8, extends: " + twin + "}", "wider.yaml");
  ASSERT_TRUE(wider.has_value()) << wider.error().message;
  EXPECT_TRUE(wider->measured.has_value());
  const auto other = parse_cluster("{nic_bandwidth: 200 Gb/s, extends: " + twin + "}", "o.yaml");
  ASSERT_TRUE(other.has_value()) << other.error().message;
  EXPECT_FALSE(other->measured.has_value());
}

TEST(ClusterFactors, EvidenceThatIsNoneIsRefused) {
  EXPECT_EQ(refusal(std::string(kHead) + "{gem: [0.01]}}"),
            "twin.yaml:2: measured.covariance.gem: is no factor of a cluster; docs/guide/twin.md "
            "lists them");
  EXPECT_EQ(refusal(std::string(kHead) + "{gemm: [ten]}}"),
            "twin.yaml:2: measured.covariance.gemm: found \"ten\"; allowed: numbers");
  for (const char* rows : {"{gemm: [-1]}", "{gemm: [1, 2]}", "{gemm: [1], network: [2, 1]}"})
    EXPECT_NE(refusal(std::string(kHead) + rows + "}").find("is no lower triangle"),
              std::string::npos)
        << rows;
  EXPECT_EQ(refusal("yes"),
            "twin.yaml:2: measured: found a word; allowed: what calibrate --from writes");
}

}  // namespace
}  // namespace ergometer::spec
