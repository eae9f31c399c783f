#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/random.h"
#include "report/explain/explain.h"
#include "report/summary/example_run.h"
#include "spec/settings/settings.h"

namespace ergometer::report {
namespace {

TEST(SharesInTenths, AddUpToTheWhole) {
  // 333.3 each: the first takes the one that is left.
  EXPECT_EQ(shares_in_tenths({1, 1, 1}), (std::vector<int>{334, 333, 333}));
  // 166.7, 833.3
  EXPECT_EQ(shares_in_tenths({1, 5}), (std::vector<int>{167, 833}));
  // 1.5, 1.5, 997: two are rounded up, the largest pays
  EXPECT_EQ(shares_in_tenths({1.5, 1.5, 997}), (std::vector<int>{2, 2, 996}));
  EXPECT_EQ(shares_in_tenths({0, 0}), (std::vector<int>{0, 0}));
  EXPECT_TRUE(shares_in_tenths({}).empty());
  const base::Random random(1, 2, "shares");
  for (uint64_t count = 1; count < 60; ++count) {
    std::vector<double> values;
    for (uint64_t i = 0; i < count; ++i) values.push_back(random.uniform(100 * count + i));
    const std::vector<int> shares = shares_in_tenths(values);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0), 1000);
    EXPECT_GE(*std::min_element(shares.begin(), shares.end()), 0);
  }
}

run::Run run_with(const std::vector<run::EnergyRow>& rows) {
  run::Run run = example_run();
  add_example_power(run);
  run.power.step_energy = rows;
  return run;
}

/// Layers that take the same are one row of all dimensions, and their own in that of layers.
TEST(ExplainEnergy, MergesLayersThatTakeTheSame) {
  std::vector<run::EnergyRow> rows;
  for (int layer = 0; layer < 10; ++layer)
    rows.push_back(
        {"layer", "layer " + std::to_string(layer), layer < 4 ? 300.0 : 200.0, 100, 0.1});
  rows.push_back({"layer", "idle", 50, 0, 0});
  const run::Run run = run_with(rows);
  const Explanation all = explain_energy(run, {}, "energy").value();
  EXPECT_EQ(all.number, run.power.gpu_energy_j_per_step);
  const auto layers = std::find_if(all.inputs.begin(), all.inputs.end(),
                                   [](const auto& it) { return it.name == "energy.layer"; });
  ASSERT_EQ(layers->inputs.size(), 3u);
  EXPECT_EQ(layers->inputs[0].name, "layers 0-3");
  EXPECT_EQ(layers->inputs[0].number, 1200);
  EXPECT_EQ(layers->inputs[1].name, "layers 4-9");
  EXPECT_EQ(layers->inputs[1].text, "1.20 kJ, 49.0 %");
  const Explanation single = explain_energy(run, {}, "energy.layer").value();
  ASSERT_EQ(single.inputs.size(), 1u);
  EXPECT_EQ(single.inputs[0].inputs.size(), 11u);
  EXPECT_FALSE(explain_energy(run, {}, "energy.colour").has_value());
}

/// Of many rows the seven dearest are kept in their order.
TEST(ExplainEnergy, LeavesTheCheapestToOthers) {
  std::vector<run::EnergyRow> rows;
  for (int i = 0; i < 12; ++i)
    rows.push_back({"operator", "op" + std::to_string(i), i == 0 ? 1.0 : 10.0 + i, 1, 0.1});
  const Explanation all = explain_energy(run_with(rows), {}, "energy").value();
  for (const Explanation& dimension : all.inputs) {
    if (dimension.name != "energy.operator") continue;
    ASSERT_EQ(dimension.inputs.size(), 8u);
    EXPECT_EQ(dimension.inputs[0].name, "op5");
    EXPECT_EQ(dimension.inputs[7].name, "5 others");
    EXPECT_EQ(dimension.inputs[7].number, 1 + 11 + 12 + 13 + 14);
  }
}

}  // namespace
}  // namespace ergometer::report
