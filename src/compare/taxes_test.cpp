#include "compare/taxes.h"

#include <gtest/gtest.h>

#include "base/collection.h"
#include "base/test_support.h"
#include "compare/test_jobs.h"

namespace ergometer::compare {
namespace {

using test::small;
using test::Values;

struct Taxed {
  spec::Job job;
  engine::Simulation simulation;
  Taxes taxes;
};

Taxed taxed(const Values& more, const engine::SimulateOptions& options = {.intervals = false}) {
  Taxed result;
  const auto fill = [&]() -> Result<void> {
    ERGOMETER_ASSIGN(result.job, spec::resolve(small(more)));
    ERGOMETER_ASSIGN(result.simulation, engine::simulate_in_full(result.job, options));
    ERGOMETER_ASSIGN(result.taxes, taxes(result.job, result.simulation));
    return {};
  };
  const auto done = fill();
  EXPECT_TRUE(done.has_value()) << base::error_of(done);
  return result;
}

/// Shares add up to the gap, and parts to what they are parts of; nothing taken away makes a step
/// longer.
void expect_whole(const Taxed& it) {
  const Taxes& t = it.taxes;
  const double rounding_s = 1e-9 * t.step_s;
  EXPECT_DOUBLE_EQ(t.step_s, it.simulation.run.performance.step_time_s);
  EXPECT_NEAR(t.bulk_synchrony.share_s + t.memory_round_trips.share_s + t.launch.share_s, t.gap_s(),
              rounding_s);
  EXPECT_NEAR(t.collective_waiting.share_s + t.host_sync.share_s, t.bulk_synchrony.share_s,
              rounding_s);
  EXPECT_NEAR(base::sum(t.sites, [](const auto& site) { return site.second; }),
              t.collective_waiting.share_s, rounding_s);
  for (const Tax& tax :
       {t.bulk_synchrony, t.collective_waiting, t.host_sync, t.memory_round_trips, t.launch}) {
    EXPECT_GE(tax.share_s, -rounding_s);
    EXPECT_LE(tax.without_s, t.step_s + rounding_s);
    EXPECT_GE(tax.without_s, t.untaxed_s - rounding_s);
  }
}

TEST(Taxes, AddUp) {
  const Values variants[] = {
      {},
      {{"pp", "2"}, {"overlap_grad_reduce", "true"}, {"overlap_param_gather", "true"}},
      {{"pp", "2"}, {"vpp", "2"}, {"gbs", "256"}},
      {{"fsdp", "true"}, {"tp", "1"}},
      {{"tp_comm_overlap", "true"}, {"sp", "true"}},
      {{"tp", "4"}, {"sp", "true"}, {"fuse", "ag-gemm,gemm-rs"}},
      {{"mode", "decode"}, {"tp", "8"}, {"gbs", "16"}},
      {{"model", "mixtral-8x7b"}, {"num_layers", "4"}, {"ep", "4"}, {"moe_routing", "zipf:1"}},
  };
  for (const Values& variant : variants) expect_whole(taxed(variant));
}

// A slow GPU: the ranks of its step wait for it, more than they would for silicon's own spread.
TEST(Taxes, EverybodyWaitsForASlowGpu) {
  const Taxed even = taxed({}), slow = taxed({{"override", "node0.gpu3.power_cap=300W"}});
  expect_whole(slow);
  EXPECT_GT(slow.taxes.collective_waiting.share_s,
            even.taxes.collective_waiting.share_s + 0.1 * slow.taxes.step_s);
  EXPECT_GE(slow.taxes.sites.size(), 2u);
}

// One GPU has nobody to wait for.
TEST(Taxes, OneGpuAlone) {
  const Taxes t = taxed({{"gpus", "1"}, {"tp", "1"}, {"num_layers", "1"}, {"gbs", "1"}}).taxes;
  EXPECT_EQ(t.collective_waiting.share_s, 0);
  EXPECT_TRUE(t.sites.empty());
  EXPECT_GT(t.memory_round_trips.share_s, 0);
  EXPECT_GT(t.launch.share_s, 0);
}

// A step of many micro batches is played by a few of its periods.
TEST(Taxes, OfAFoldedStepAreThoseOfTheWhole) {
  const Values values = {{"pp", "2"}, {"gbs", "256"}};
  const Taxed folded = taxed(values);
  const Taxed whole = taxed(values, {.intervals = false, .whole_step = true});
  const double rounding_s = 1e-9 * whole.taxes.step_s;
  EXPECT_NEAR(folded.taxes.untaxed_s, whole.taxes.untaxed_s, rounding_s);
  EXPECT_NEAR(folded.taxes.collective_waiting.share_s, whole.taxes.collective_waiting.share_s,
              rounding_s);
  EXPECT_NEAR(folded.taxes.pairs, whole.taxes.pairs, 1e-9 * whole.taxes.pairs);
}

}  // namespace
}  // namespace ergometer::compare
