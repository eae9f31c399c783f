// One step of a job, and what comes before it.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "engine/simulate.h"
#include "jobs.h"

namespace ergometer::bench {
namespace {

void report_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] =
      static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts in KiB
}

/// One GPT-3 175B step, TP 8, PP 8, every GPU with a clock of its own. Argument: DP.
void sweep_gpt3(benchmark::State& state) {
  const Prepared ready = prepare(gpt3(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(engine::sweep(ready.input()).step_s);
  state.counters["gpus"] = static_cast<double>(ready.job.gpus);
  state.counters["rank_instructions"] =
      benchmark::Counter(ready.rank_instructions(), benchmark::Counter::kIsIterationInvariantRate);
  report_memory(state);
}
BENCHMARK(sweep_gpt3)->Arg(128)->Arg(512)->Arg(2048)->Unit(benchmark::kMillisecond);

/// The same step on the event engine, on as few GPUs as hold it: what the sweep replaces.
void events_gpt3(benchmark::State& state) {
  const Prepared ready = prepare(gpt3(1));
  for (auto _ : state) benchmark::DoNotOptimize(engine::simulate_events(ready.input()).step_s);
  state.counters["rank_instructions"] =
      benchmark::Counter(ready.rank_instructions(), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(events_gpt3)->Unit(benchmark::kMillisecond);

void plan_gpt3(benchmark::State& state) {
  const spec::Job job = gpt3(128);
  const workload::Workload workload = workload::lower(job);
  for (auto _ : state) benchmark::DoNotOptimize(plan::make_plan(job, workload).messages);
}
BENCHMARK(plan_gpt3)->Unit(benchmark::kMillisecond);

void price_gpt3(benchmark::State& state) {
  const Prepared ready = prepare(gpt3(128));
  const auto model = cost::CostModel::make(ready.job);
  for (auto _ : state)
    benchmark::DoNotOptimize(cost::price_plan(*model, ready.plan, ready.job).launch_s);
}
BENCHMARK(price_gpt3)->Unit(benchmark::kMillisecond);

void contention_gpt3(benchmark::State& state) {
  const Prepared ready = prepare(gpt3(128));
  const auto model = cost::CostModel::make(ready.job);
  for (auto _ : state)
    benchmark::DoNotOptimize(
        engine::settle_contention(ready.job, ready.plan, *model, ready.costs).size());
}
BENCHMARK(contention_gpt3)->Unit(benchmark::kMillisecond);

/// The answer a user waits for: Llama-3-70B on 32 GPUs, from the resolved job to the Run.
void simulate_llama3_70b(benchmark::State& state) {
  const spec::Job job = llama3_70b();
  for (auto _ : state) benchmark::DoNotOptimize(engine::simulate(job, {})->performance.step_time_s);
}
BENCHMARK(simulate_llama3_70b)->Unit(benchmark::kMillisecond);

/// GPT-3 175B on 64 GPUs. Argument: micro batches, of which a few periods are played.
void simulate_micro_batches(benchmark::State& state) {
  const spec::Job job = gpt3(1, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(engine::simulate(job, {})->performance.step_time_s);
  report_memory(state);
}
BENCHMARK(simulate_micro_batches)->Arg(64)->Arg(1536)->Arg(4096)->Unit(benchmark::kMillisecond);

/// GPT-3 175B on 64 x DP GPUs that nothing tells apart. Argument: DP.
void simulate_replicas(benchmark::State& state) {
  const spec::Job job = gpt3(state.range(0), 8);
  for (auto _ : state) benchmark::DoNotOptimize(engine::simulate(job, {})->performance.step_time_s);
  report_memory(state);
}
BENCHMARK(simulate_replicas)->Arg(128)->Arg(2048)->Arg(16384)->Unit(benchmark::kMillisecond);

void resolve_llama3_70b(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(llama3_70b().gpus);
}
BENCHMARK(resolve_llama3_70b)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ergometer::bench
