// Whole training runs played failure by failure: 10,000 of Llama 3.1 405B on 16,384 H100, 500
// failures each, on one core.
#include <benchmark/benchmark.h>

#include "campaign/draws.h"

namespace ergometer::bench {
namespace {

void play_campaigns(benchmark::State& state) {
  constexpr double kMtbfS = 1e4;
  const campaign::Outages outages{
      1 / kMtbfS, {{"node", 0.75, 300, 600, 3 * 86400.0}, {"software", 0.25, 300, 600, 0}}};
  const campaign::Rhythm rhythm{235, 3, 0};
  constexpr int64_t kIntervals = 54 * 86400 / 240;
  double days = 0;
  for (auto _ : state) {
    for (uint64_t i = 0; i < static_cast<uint64_t>(state.range(0)); ++i) {
      const base::Random random(1, i, "bench");
      days += campaign::play_campaign(rhythm, kIntervals, outages, 64, random).total();
    }
  }
  benchmark::DoNotOptimize(days);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(play_campaigns)->Name("campaign/draws")->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ergometer::bench
