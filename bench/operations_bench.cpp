// How many operations a second a timeline's stragglers are priced at: 64 workers, 20 steps.
#include <benchmark/benchmark.h>

#include "analysis/operations/operation_slowdown.h"

namespace {

using namespace ergometer;
using run::OperationRole;

constexpr int kStages = 8, kReplicas = 8, kBatches = 32, kSteps = 20;

run::OperationTimeline operations_of_a_job() {
  run::OperationTimeline t{"bench", {.stages = kStages, .replicas = kReplicas}, {}, {}, {}};
  t.kinds = {{"forward-compute", OperationRole::kForward},
             {"backward-compute", OperationRole::kBackward},
             {"forward-send", OperationRole::kForwardSend},
             {"forward-recv", OperationRole::kForwardReceive},
             {"backward-send", OperationRole::kBackwardSend},
             {"backward-recv", OperationRole::kBackwardReceive}};
  const auto put = [&](int step, int stage, int replica, int kind, int batch, double start_us) {
    t.operations.push_back({step, stage, replica, 0, 0, batch, batch, kind, start_us,
                            kind < 2 ? 100.0 + (7 * batch + stage) % 11 : 5.0});
  };
  for (int step = 0; step < kSteps; ++step) {
    t.steps.push_back(step);
    for (int at = 0; at < kStages * kReplicas; ++at)
      for (int batch = 0; batch < kBatches; ++batch) {
        const int stage = at % kStages, replica = at / kStages;
        const double start_us = 1000.0 * batch + 10.0 * stage;
        put(step, stage, replica, 0, batch, start_us);
        put(step, stage, replica, 1, batch, start_us + 500);
        if (stage + 1 < kStages) put(step, stage, replica, 2, batch, start_us);
        if (stage > 0) put(step, stage, replica, 3, batch, start_us);
        if (stage > 0) put(step, stage, replica, 4, batch, start_us + 500);
        if (stage + 1 < kStages) put(step, stage, replica, 5, batch, start_us + 500);
      }
  }
  return t;
}

void BM_OperationSlowdown(benchmark::State& state) {
  const run::OperationTimeline timeline = operations_of_a_job();
  for (auto _ : state)
    benchmark::DoNotOptimize(
        analysis::operation_slowdown(timeline, static_cast<size_t>(state.range(0))).slowdown);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(timeline.operations.size()));
}
BENCHMARK(BM_OperationSlowdown)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
