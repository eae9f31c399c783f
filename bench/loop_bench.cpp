// Time, power and heat together (engine/outcome/powered.h).
#include <benchmark/benchmark.h>

#include "engine/outcome/powered.h"
#include "jobs.h"

namespace ergometer::bench {
namespace {

void play(benchmark::State& state, double duration_s) {
  spec::Job job = gpt3(state.range(0));
  job.conditions.seed = 7;
  job.conditions.duration_s = duration_s;
  const Prepared ready = prepare(job);
  for (auto _ : state) {
    const auto powered = engine::power_and_heat(ready.input(), {});
    benchmark::DoNotOptimize(powered->power.mean_w_per_gpu);
  }
  state.counters["gpus"] = static_cast<double>(ready.job.gpus);
}

/// Ten minutes of training from a cold start, every GPU of other silicon. Argument: DP.
void ten_minutes_gpt3(benchmark::State& state) { play(state, 600); }
BENCHMARK(ten_minutes_gpt3)->Arg(128)->Unit(benchmark::kMillisecond);

/// Straight to the steady state; the larger cluster is 131,072 GPUs.
void steady_gpt3(benchmark::State& state) { play(state, 0); }
BENCHMARK(steady_gpt3)->Arg(128)->Arg(2048)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ergometer::bench
