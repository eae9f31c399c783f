// What a small job spends before it is predicted, and what tracing all ranks of a large one takes.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <numeric>

#include "engine/kernel_stream.h"
#include "jobs.h"
#include "spec/catalog/read.h"
#include "spec/yaml/yaml_document.h"

namespace ergometer::bench {
namespace {

using ReadYaml = bool(const spec::CatalogEntry&);

void read_catalog(benchmark::State& state, ReadYaml* read) {
  int64_t bytes = 0;
  for (auto _ : state)
    for (const spec::CatalogEntry& entry : spec::catalog()) {
      if (!entry.path.ends_with(".yaml") || entry.kind == spec::CatalogKind::kStudy) continue;
      if (!read(entry)) return state.SkipWithError("misread");
      bytes += static_cast<int64_t>(entry.text.size());
    }
  state.SetBytesProcessed(bytes);
}

/// All files of the catalog; a job names a dozen of them.
void yaml_plain(benchmark::State& state) {
  read_catalog(state, [](const spec::CatalogEntry& entry) {
    return spec::parse_plain_yaml(entry.text) != nullptr;
  });
}
BENCHMARK(yaml_plain)->Unit(benchmark::kMillisecond);

void yaml_library(benchmark::State& state) {
  read_catalog(state, [](const spec::CatalogEntry& entry) {
    return spec::parse_any_yaml(entry.text, "bench.yaml").has_value();
  });
}
BENCHMARK(yaml_library)->Unit(benchmark::kMillisecond);

/// The kernels of 1,024 ranks, a few ranks at a time.
void kernels_of_all_ranks(benchmark::State& state) {
  const spec::Job job = gpt3(16);
  const auto simulation = engine::simulate_in_full(job, {.kernels = false, .intervals = false});
  if (!simulation) return state.SkipWithError("not simulated");
  std::vector<int64_t> ranks(static_cast<size_t>(job.gpus));
  std::iota(ranks.begin(), ranks.end(), 0);
  const engine::KernelStream stream(job, *simulation, engine::EngineKind::kSweep, ranks);
  int64_t kernels = 0;
  for (auto _ : state) stream.each([&](const run::Kernel&) { ++kernels; });
  state.SetItemsProcessed(kernels);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}
BENCHMARK(kernels_of_all_ranks)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ergometer::bench
