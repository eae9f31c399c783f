// The catalog's cooling against what was measured on such machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/test_support.h"
#include "physics/heat.h"
#include "spec/catalog/read.h"

namespace ergometer::physics {
namespace {

spec::Node node_named(const std::string& name) { return spec::read_cluster(name).value().node; }

struct Rows {
  double front_c = 0, rear_c = 0;  ///< means over the GPUs of the first and of the last row
  double speed = 1;                ///< of the fans, settled
  double ratio() const { return rear_c / front_c; }
};

/// Settled temperatures with the automatic fans: their speed and the hottest die are found by
/// halving, since a faster fan never makes a die hotter.
Rows settled_rows(const std::string& name, spec::Cooling kind, double die_w, double memory_w) {
  const spec::Node node = node_named(name);
  const CoolingParameters cooling = cooling_parameters(node, kind).value();
  Heat heat(cooling, node, 1, {});
  const std::vector<double> die(static_cast<size_t>(node.gpus), die_w),
      memory(static_cast<size_t>(node.gpus), memory_w);
  const auto hottest_at = [&](double speed) {
    heat.set_flow(0, speed);
    heat.settle(die, memory);
    return *std::max_element(heat.die_c().begin(), heat.die_c().end());
  };
  double low = cooling.fan_lowest, high = 1;
  for (int step = 0; step < 12; ++step) {
    const double middle = (low + high) / 2;
    (fan_speed(cooling, hottest_at(middle)) > middle ? low : high) = middle;
  }
  hottest_at(high);
  Rows rows;
  rows.speed = high;
  int last = 0, front = 0, rear = 0;
  for (const spec::Slot& slot : node.slots) last = std::max(last, slot.row);
  for (size_t gpu = 0; gpu < node.slots.size(); ++gpu) {
    if (node.slots[gpu].row == 0) rows.front_c += heat.die_c()[gpu], ++front;
    if (node.slots[gpu].row == last) rows.rear_c += heat.die_c()[gpu], ++rear;
  }
  rows.front_c /= front;
  rows.rear_c /= rear;
  return rows;
}

Rows show(const char* what, const Rows& rows) {
  std::printf("%s: front %.1f C, rear %.1f C, %.1f %% hotter, fans at %.0f %%\n", what,
              rows.front_c, rows.rear_c, 100 * (rows.ratio() - 1), 100 * rows.speed);
  return rows;
}

/// arXiv 2507.16781: 54 to 72 C over eight H100 in air; arXiv 2509.10371: rear up to 27 % hotter.
TEST(CoolingFindings, RearGpusOfAnHgxNodeAre15To27PercentHotter) {
  for (const char* name : {"hgx-h100", "hgx-h200"}) {
    const Rows rows = show(name, settled_rows(name, spec::Cooling::kAir, 560, 90));
    EXPECT_NEAR(rows.front_c, 57, 2);
    EXPECT_NEAR(rows.rear_c, 72, 2);
    EXPECT_GT(rows.ratio(), 1.15);
    EXPECT_LT(rows.ratio(), 1.27);
  }
  const Rows full =
      show("hgx-h100 at 700 W", settled_rows("hgx-h100", spec::Cooling::kAir, 600, 100));
  EXPECT_LT(full.rear_c, 87);
  EXPECT_LT(full.ratio(), 1.275);
}

/// qx-h100.xml: 29 C and 31.25 C at 68 W; qx-b200.xml: 38 C and 51.75 C at 195 to 204 W.
TEST(CoolingFindings, IdleRowsAreAsFarApartAsCaptured) {
  const Rows h100 =
      show("hgx-h100 idle, 68 W", settled_rows("hgx-h100", spec::Cooling::kAir, 33, 35));
  EXPECT_NEAR(h100.rear_c - h100.front_c, 2.25, 0.5);
  EXPECT_NEAR(h100.front_c, 29, 2);
  const Rows b200 =
      show("hgx-b200 idle, 195 W", settled_rows("hgx-b200", spec::Cooling::kAir, 125, 70));
  EXPECT_NEAR(b200.rear_c - b200.front_c, 13.75, 1);
  EXPECT_NEAR(b200.front_c, 38, 2);
}

TEST(CoolingFindings, BlackwellStaysBelowItsLimitAtFullPower) {
  const Rows rows =
      show("hgx-b200 at 1000 W", settled_rows("hgx-b200", spec::Cooling::kAir, 850, 150));
  EXPECT_LT(rows.rear_c, 88);
  EXPECT_GT(rows.ratio(), 1.15);
  EXPECT_LT(rows.ratio(), 1.27);
}

/// arXiv 2507.16781: 41 to 50 C with liquid.
TEST(CoolingFindings, LiquidTakesTheRowGapAway) {
  const Rows rows =
      show("hgx-h100 in liquid, 650 W", settled_rows("hgx-h100", spec::Cooling::kLiquid, 560, 90));
  EXPECT_GT(rows.front_c, 41);
  EXPECT_LT(rows.rear_c, 50);
  EXPECT_LT(rows.rear_c - rows.front_c, 3);
  const Rows rack =
      show("gb200-nvl72 at 1200 W", settled_rows("gb200-nvl72", spec::Cooling::kLiquid, 1000, 200));
  EXPECT_EQ(rack.front_c, rack.rear_c);
  EXPECT_LT(rack.rear_c, 87);
  const Rows oil = show("hgx-h100 immersed, 650 W",
                        settled_rows("hgx-h100", spec::Cooling::kImmersion, 560, 90));
  EXPECT_LT(oil.rear_c, 87);
}

/// AcmeTrace: P95 62 C, P99 66 C, highest 79 C.
TEST(CoolingFindings, A100StaysInTheFleetsUpperTail) {
  const Rows rows =
      show("dgx-a100 at 400 W", settled_rows("dgx-a100", spec::Cooling::kAir, 350, 50));
  EXPECT_GT(rows.rear_c, 60);
  EXPECT_LT(rows.rear_c, 68);
  EXPECT_GT(rows.ratio(), 1.15);
  EXPECT_LT(rows.ratio(), 1.27);
}

/// arXiv 2509.10371: 5 to 10 C between the dies of a module.
TEST(CoolingFindings, DiesOfAnMi250ModuleAre5To10DegreesApart) {
  const Rows rows =
      show("mi250 at 230 W a die", settled_rows("mi250", spec::Cooling::kAir, 185, 45));
  EXPECT_GT(rows.rear_c - rows.front_c, 5);
  EXPECT_LT(rows.rear_c - rows.front_c, 10);
}

/// arXiv 2511.09861: hottest over coolest 1.155.
TEST(CoolingFindings, Mi300xNodeSpreadsBy1155) {
  const Rows rows = show("mi300x at 750 W", settled_rows("mi300x", spec::Cooling::kAir, 600, 150));
  EXPECT_NEAR(rows.ratio(), 1.155, 0.02);
  const Rows idle =
      show("mi300x idle, 176 W", settled_rows("mi300x", spec::Cooling::kAir, 116, 60));
  EXPECT_NEAR((idle.front_c + idle.rear_c) / 2, 44, 3);
}

/// pw-0502 to pw-0533: pairs at 64.5 and 72 C at 295 W.
TEST(CoolingFindings, V100PairsAsMeasured) {
  const Rows rows =
      show("dgx1-v100 at 295 W", settled_rows("dgx1-v100", spec::Cooling::kAir, 255, 40));
  EXPECT_NEAR(rows.front_c, 64.5, 2);
  EXPECT_NEAR(rows.rear_c, 72, 2);
}

TEST(CoolingParameters, EveryNodeOfTheCatalogCanBeCooled) {
  for (const spec::CatalogEntry& entry : spec::catalog()) {
    if (entry.kind != spec::CatalogKind::kNode) continue;
    const spec::Node node = node_named(entry.name);
    const auto cooling = cooling_parameters(node, node.cooling);
    EXPECT_TRUE(cooling.has_value()) << base::error_of(cooling);
  }
}

TEST(CoolingParameters, SaysWhatIsMissing) {
  spec::Node node = node_named("mi250");
  const auto cooling = cooling_parameters(node, spec::Cooling::kImmersion);
  ASSERT_FALSE(cooling.has_value());
  EXPECT_EQ(
      cooling.error().message,
      "node mi250: cooling.immersion.die_capacity is missing: nothing is known about its "
      "immersion cooling; name a file of catalog/cooling under `coolings: {immersion: NAME}`");
  node = node_named("hgx-h100");
  node.parameters.set("cooling.air.fan_full", {30, "C", "test", base::Grade::kAssumed});
  EXPECT_EQ(cooling_parameters(node, spec::Cooling::kAir).error().message,
            "node hgx-h100: cooling.air: fan_full must not be below fan_start");
}

/// Between 45 and 70 C from 0.65 to 1: at 55 C 0.65 + 0.35 x 10 / 25 = 0.79.
TEST(FanSpeed, RisesWithTheHottestDie) {
  CoolingParameters cooling;
  cooling.fan_lowest = 0.65;
  cooling.fan_start_c = 45;
  cooling.fan_full_c = 70;
  EXPECT_EQ(fan_speed(cooling, 20), 0.65);
  EXPECT_NEAR(fan_speed(cooling, 55), 0.79, 1e-15);
  EXPECT_EQ(fan_speed(cooling, 70), 1);
  EXPECT_EQ(fan_speed(CoolingParameters{}, 20), 1);  // pumps
}

}  // namespace
}  // namespace ergometer::physics
