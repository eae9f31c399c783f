// The clock governor alone: one decision for each of many GPUs with silicon of their own.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "physics/governor.h"
#include "physics/silicon.h"

namespace ergometer::physics {
namespace {

GpuPower h100_like() {
  GpuPower gpu;
  gpu.clocks = {345e6, 1980e6, 15e6};
  gpu.voltage = {0.7, 1000e6, 1980e6};
  gpu.constant_w = 45;
  gpu.leakage_w = 40;
  gpu.leakage_per_k = 0.01;
  gpu.active_w = 100;
  gpu.cap_w = 700;
  return gpu;
}

/// Every GPU's clock decided once, most of them held by the power cap; with `repeats`, loads were
/// found at the clock decided before, as in a job that has settled, else at the highest one.
void governor_decisions(benchmark::State& state) {
  const GpuPower gpu = h100_like();
  const auto count = static_cast<size_t>(state.range(0));
  const bool repeats = state.range(1) != 0;
  const std::vector<Silicon> silicon = draw_silicon(1, state.range(0));
  std::vector<double> die_c(count), clock_hz(count, gpu.clocks.highest_hz);
  std::vector<Load> load(count);
  for (size_t i = 0; i < count; ++i) {
    const base::Random random(1, i, "bench");
    die_c[i] = random.uniform(0, 45, 80);
    load[i] = {random.uniform(1, 400, 900), 90, 10, true};
  }
  const auto decide = [&](size_t i, const Load& at, double at_hz) {
    return decide_clock(gpu, silicon[i], {700}, die_c[i], at, {0.8, at_hz}, 0).clock_hz;
  };
  if (repeats) {
    for (size_t i = 0; i < count; ++i) {
      const double clock = decide(i, load[i], clock_hz[i]);
      load[i] = load_at(load[i], {0.8, clock_hz[i]}, clock);
      clock_hz[i] = clock;
    }
  }
  for (auto _ : state) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += decide(i, load[i], clock_hz[i]);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(governor_decisions)->Args({100000, 1})->Args({100000, 0})->Unit(benchmark::kMillisecond);

/// The same GPUs together, as a tick decides them.
void governor_decisions_together(benchmark::State& state) {
  const GpuPower gpu = h100_like();
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<double> voltage(count, 0.0), cap_w(count, 700.0), steady_w(count, 100.0),
      share(count, 0.8), at_hz(count, gpu.clocks.highest_hz), ceiling_hz = at_hz;
  std::vector<double> leakage_w(count), core_w(count), clock_hz(count);
  for (size_t i = 0; i < count; ++i) {
    const base::Random random(1, i, "bench");
    leakage_w[i] = gpu.leakage_at(random.uniform(0, 45, 80), {});
    core_w[i] = random.uniform(1, 400, 900);
  }
  for (auto _ : state) {
    for (size_t i = 0; i < count; i += Governed::kMost)
      decide_each(gpu,
                  {std::min(Governed::kMost, count - i), leakage_w.data() + i, voltage.data() + i,
                   cap_w.data() + i, core_w.data() + i, steady_w.data() + i, share.data() + i,
                   at_hz.data() + i, ceiling_hz.data() + i},
                  clock_hz.data() + i);
    benchmark::DoNotOptimize(clock_hz.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(governor_decisions_together)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ergometer::physics
