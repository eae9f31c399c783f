// What this machine can do at all, to read the other numbers against.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

namespace {

constexpr int64_t kSmall = int64_t{1} << 14;  ///< elements: 128 KiB a vector, second-level cache
constexpr int64_t kLarge = int64_t{1} << 23;  ///< 64 MiB a vector, memory

/// Bytes moved a second by a = b.
void yardstick_memcpy(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  std::vector<double> a(n, 1.0), b(n, 2.0);
  for (auto _ : state) {
    std::memcpy(a.data(), b.data(), n * sizeof(double));
    benchmark::DoNotOptimize(a.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2 *
                          static_cast<int64_t>(sizeof(double)));
}
BENCHMARK(yardstick_memcpy)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);

/// Bytes moved a second by a = b + s c (STREAM's triad).
void yardstick_triad(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  std::vector<double> a(n, 1.0), b(n, 2.0), c(n, 3.0);
  for (auto _ : state) {
    for (size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
    benchmark::DoNotOptimize(a.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 3 *
                          static_cast<int64_t>(sizeof(double)));
}
BENCHMARK(yardstick_triad)->Arg(kSmall)->Arg(kLarge)->Unit(benchmark::kMillisecond);

/// Additions a second when each waits for the one before: the pace of a max-plus recurrence done
/// rank by rank.
void yardstick_dependent_adds(benchmark::State& state) {
  double sum = 0;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) {
      sum += 1.0;
      benchmark::DoNotOptimize(sum);
    }
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(yardstick_dependent_adds);

}  // namespace
