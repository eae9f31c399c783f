#include "physics/node_power.h"

#include <gtest/gtest.h>

namespace ergometer::physics {
namespace {

/// Two NICs of 25 W.
spec::Node node() {
  spec::Node result;
  result.name = "hgx";
  result.nics.resize(2);
  const auto set = [&](const char* name, double value) {
    result.parameters.set(name, {value, "", "test", base::Grade::kAssumed});
  };
  set("power.cpu", 500);
  set("power.dram", 100);
  set("power.nic", 25);
  set("power.switch", 120);
  set("power.other", 30);
  set("power.supply_fixed", 50);
  set("power.supply_efficiency", 0.8);
  return result;
}

TEST(NodePower, SuppliesDrawWhatTheNodeNeedsAndTheirLosses) {
  const auto power = node_power(node());
  ASSERT_TRUE(power) << power.error().message;
  EXPECT_DOUBLE_EQ(power->nics_w, 50);
  // 500 + 100 + 2 x 25 + 120 + 30
  EXPECT_DOUBLE_EQ(power->overhead_w(), 800);
  // (3000 + 800 + 150 + 50) / 0.8
  EXPECT_DOUBLE_EQ(power->ac_w(3000, 150), 5000);
}

TEST(NodePower, WithoutNicsNoneDraws) {
  spec::Node bare = node();
  bare.nics.clear();
  EXPECT_DOUBLE_EQ(node_power(bare)->overhead_w(), 750);
}

TEST(NodePower, NamesNodeAndMissingParameter) {
  spec::Node bare = node();
  bare.parameters = {};
  bare.parameters.set("power.cpu", {500, "W", "test", base::Grade::kAssumed});
  const auto power = node_power(bare);
  ASSERT_FALSE(power);
  EXPECT_EQ(power.error().kind, base::ErrorKind::kInput);
  EXPECT_EQ(power.error().message,
            "node hgx: lacks power.dram, which the power of whole nodes needs");
}

}  // namespace
}  // namespace ergometer::physics
