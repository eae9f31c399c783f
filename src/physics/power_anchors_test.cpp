// The catalog's power parameters against what is known of whole GPUs: how a long stream of large
// matrix products runs under the default cap, what streaming memory draws, what idling draws.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "physics/governor.h"
#include "spec/read.h"

namespace ergometer::physics {
namespace {

spec::Gpu gpu_of(const std::string& node) {
  const auto cluster = spec::read_cluster(node);
  EXPECT_TRUE(cluster) << node << ": " << cluster.error().message;
  return cluster ? cluster->node.gpu : spec::Gpu{};
}

struct Stream {
  Load load;
  double flops_per_s = 0;  ///< at the highest clock
};

/// 16-bit products of 8192 x 8192 x 8192 one after the other, at the highest clock; `activity` of
/// the operands: 1 random, 0 zeros. Bytes as in cost/energy.cpp.
Stream gemms(const spec::Gpu& gpu, double activity = 1) {
  const EnergyPerWork energy = *energy_per_work(gpu);
  const base::ParameterSet& p = gpu.parameters;
  const double rate =
      p.at("peak_fp16") * p.at("gemm.efficiency") * p.at("clock_max") / gpu.boost_clock_hz;
  const double memory_bytes = 3 * 8192.0 * 8192 * 2 / (2 * 8192.0 * 8192 * 8192);  // a FLOP
  const double cache_bytes = (1 / p.at("gemm.tile_m") + 1 / p.at("gemm.tile_n")) + memory_bytes;
  const double share = 1 - energy.data_share * (1 - activity);
  return {{rate * share * (energy.tensor_fp16 + cache_bytes * energy.cache),
           rate * share * memory_bytes * energy.memory, 0, true},
          rate};
}

ClockDecision under_cap(const GpuPower& power, const Load& load) {
  return decide_clock(power, {}, {}, 65, load, {1, power.clocks.highest_hz}, 0);
}

// Compute is priced at the clock that training showed; a stream of products under the default cap
// must come out near it, or governed runs would be off where constant clocks are not.
TEST(PowerAnchors, GemmsRunNearTheSustainedClock) {
  for (const char* node : {"dgx-a100",    "hgx-a100-40gb", "a100-pcie", "hgx-h100", "hgx-h100-500w",
                           "hgx-h200",    "gh200",         "h100-pcie", "hgx-b200", "hgx-b300",
                           "gb200-nvl72", "gb300-nvl72",   "l40s",      "mi250",    "mi250x",
                           "mi300x",      "mi325x",        "mi350x",    "mi355x",   "dgx1-v100"}) {
    const spec::Gpu gpu = gpu_of(node);
    const auto power = gpu_power(gpu);
    ASSERT_TRUE(power) << power.error().message;
    const Stream stream = gemms(gpu);
    const ClockDecision decision = under_cap(*power, stream.load);
    const Load load = load_at(stream.load, {1, power->clocks.highest_hz}, decision.clock_hz);
    fmt::print(
        "{:14} {:5.0f} MHz of {:5.0f}, sustained in training {:5.0f} ({:+5.1f} %), {:5.0f} W "
        "of {:5.0f}, unlimited {:5.0f} W, waiting {:4.0f} W\n",
        node, decision.clock_hz / 1e6, power->clocks.highest_hz / 1e6, gpu.sustained_clock_hz / 1e6,
        100 * (decision.clock_hz / gpu.sustained_clock_hz - 1),
        power->power_w(decision.clock_hz, 65, load, {}), power->cap_w,
        power->power_w(power->clocks.highest_hz, 65, stream.load, {}),
        power->power_w(power->clocks.highest_hz, 50, {}, {}));
    EXPECT_NEAR(decision.clock_hz / gpu.sustained_clock_hz, 1, 0.10) << node;
  }
}

}  // namespace
}  // namespace ergometer::physics
