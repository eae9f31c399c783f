// Temperatures of a cluster: what the simulation of minutes adds to that of steps.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "physics/heat.h"

namespace {

using ergometer::physics::CoolingParameters;
using ergometer::physics::Heat;

constexpr int64_t kHeatNodes = 12'500;

/// An air-cooled node of eight GPUs in two rows.
ergometer::spec::Node node() {
  ergometer::spec::Node result;
  result.gpus = 8;
  for (int gpu = 0; gpu < 8; ++gpu) result.slots.push_back({gpu % 2, gpu / 2});
  return result;
}

CoolingParameters cooling() {
  CoolingParameters result;
  result.die_j_per_k = 2;
  result.spreader_j_per_k = 60;
  result.sink_j_per_k = 700;
  result.memory_j_per_k = 20;
  result.die_k_per_w = 0.016;
  result.spreader_k_per_w = 0.01;
  result.memory_k_per_w = 0.05;
  result.sink_k_per_w = 0.01;
  result.film_k_per_w = 0.014;
  result.preheat_k_per_w = 0.022;
  return result;
}

/// Heat of 100,000 GPUs (12,500 air-cooled nodes, individual resistance), 600 steps of 1 s; power
/// changes with every step. With argument 1 every node's fans change speed every fifth step.
void heat_ten_minutes(benchmark::State& state) {
  const ergometer::base::Random random(1, 0, "resistance");
  std::vector<double> resistance, die, memory;
  for (uint64_t gpu = 0; gpu < kHeatNodes * 8; ++gpu) {
    resistance.push_back(1 + 0.08 * std::clamp(random.normal(gpu), -3.0, 3.0));
    die.push_back(500 + 20 * random.normal(gpu));
    memory.push_back(60);
  }
  for (auto _ : state) {
    Heat heat(cooling(), node(), kHeatNodes, resistance);
    for (int step = 0; step < 600; ++step) {
      if (state.range(0) == 1 && step % 5 == 0)
        for (int64_t n = 0; n < kHeatNodes; ++n)
          heat.set_flow(n,
                        0.7 + 0.05 * random.uniform(static_cast<uint64_t>(n + step * kHeatNodes)));
      heat.advance(1, die, memory);
      die[static_cast<size_t>(step)] += 1;
    }
    benchmark::DoNotOptimize(heat.die_c().data());
  }
  state.SetItemsProcessed(state.iterations() * 600 * kHeatNodes * 8);
}
BENCHMARK(heat_ten_minutes)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// The same cluster straight to where it ends, every node at a flow of its own.
void heat_settled(benchmark::State& state) {
  const ergometer::base::Random random(1, 0, "flow");
  const std::vector<double> die(kHeatNodes * 8, 560), memory(kHeatNodes * 8, 90);
  Heat heat(cooling(), node(), kHeatNodes, {});
  for (int64_t n = 0; n < kHeatNodes; ++n)
    heat.set_flow(n, random.uniform(static_cast<uint64_t>(n), 0.5, 1));
  for (auto _ : state) {
    heat.settle(die, memory);
    benchmark::DoNotOptimize(heat.die_c().data());
  }
  state.SetItemsProcessed(state.iterations() * kHeatNodes * 8);
}
BENCHMARK(heat_settled)->Unit(benchmark::kMillisecond);

/// Where four nodes settle, fans a little faster every time: what the intervals of a small job ask
/// for some hundred times.
void heat_settles(benchmark::State& state) {
  constexpr int64_t kSettledNodes = 4;
  Heat heat(cooling(), node(), kSettledNodes, {});
  const std::vector<double> die(kSettledNodes * 8, 500), memory(kSettledNodes * 8, 60);
  double flow = 0.5;
  for (auto _ : state) {
    flow = flow < 1 ? flow + 0.001 : 0.5;
    for (int64_t n = 0; n < kSettledNodes; ++n) heat.set_flow(n, flow);
    heat.settle(die, memory);
    benchmark::DoNotOptimize(heat.die_c().data());
  }
}
BENCHMARK(heat_settles)->Unit(benchmark::kMicrosecond);

}  // namespace
