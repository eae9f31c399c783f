// Estimates of a search, feasible and infeasible candidates apart: GPT-3 175B on 4,096 A100, one
// thread, everything of a candidate (time, memory, energy), prices of blocks included where they
// are not kept.
#include <benchmark/benchmark.h>

#include <bit>
#include <utility>
#include <vector>

#include "search/estimate/estimator.h"
#include "search/estimate/pieces.h"
#include "search/estimates.h"

namespace ergometer::bench {
namespace {

search::Space gpt3_space(const char* micro_batch) {
  spec::Settings settings;
  for (const auto& [name, value] : {std::pair{"model", "gpt3-175b"},
                                    {"cluster", "selene"},
                                    {"gpus", "4096"},
                                    {"global_batch_size", "4096"},
                                    {"seq_length", "2048"},
                                    {"context_parallel_size", "1"},
                                    {"micro_batch_size", micro_batch}})
    if (*value != '\0') settings.set(name, value, {});
  return *search::Space::make(settings, {});
}

/// In the order that a worker takes them.
std::vector<search::Layout> in_pieces(const std::vector<search::Layout>& layouts) {
  const search::Pieces pieces(layouts);
  std::vector<search::Layout> ordered;
  for (size_t piece = 0; piece < pieces.count(); ++piece)
    for (const size_t place : pieces.of(piece)) ordered.push_back(layouts[place]);
  return ordered;
}

struct Counts {
  int64_t feasible = 0, infeasible = 0;
};

Counts estimate_all(const search::Space& space, const std::vector<search::Layout>& layouts,
                    const std::vector<search::Options>& options, search::Estimator& estimator,
                    bool times) {
  Counts counts;
  std::vector<search::PassVariant> variants;
  std::vector<uint32_t> fitting;  // by variant, a bit an option that fits
  for (size_t l = 0; l < layouts.size(); ++l) {
    if (!estimator.set_layout(layouts[l])) continue;
    const std::vector<search::DataOption>& data = options[l].data;
    for (const bool pipeline : {false, true}) {
      variants.clear();
      fitting.clear();
      for (const search::Overlap& overlap : options[l].overlaps) {
        if (overlap.pipeline != pipeline) continue;
        for (const search::Recomputation& recomputation : options[l].recomputations) {
          uint32_t fits = 0;
          for (size_t d = 0; d < data.size(); ++d)
            if (estimator.fits(overlap, recomputation, data[d])) fits |= 1u << d;
          const auto count = static_cast<int64_t>(std::popcount(fits));
          counts.feasible += count;
          counts.infeasible += static_cast<int64_t>(data.size()) - count;
          if (count == 0) continue;
          variants.push_back({overlap, recomputation});
          fitting.push_back(fits);
        }
      }
      if (!times) continue;
      estimator.set_passes(variants);
      for (size_t i = 0; i < variants.size(); ++i)
        for (size_t d = 0; d < data.size(); ++d)
          if ((fitting[i] >> d & 1u) != 0)
            benchmark::DoNotOptimize(estimator.estimate(i, data[d]).step_s);
    }
  }
  benchmark::DoNotOptimize(space.bases().size());
  return counts;
}

void run(benchmark::State& state, bool times) {
  const search::Space space = gpt3_space("1");
  const std::vector<search::Layout> layouts = in_pieces(space.layouts());
  search::LegalityCheck legal(space);
  std::vector<search::Options> options;
  for (const search::Layout& layout : layouts) options.push_back(space.options(layout, legal));
  search::Estimator estimator(space);
  Counts counts = estimate_all(space, layouts, options, estimator, times);
  for (auto _ : state) counts = estimate_all(space, layouts, options, estimator, times);
  const auto rate = [](int64_t count) {
    return benchmark::Counter(static_cast<double>(count),
                              benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["feasible"] = rate(counts.feasible);
  state.counters["infeasible"] = rate(counts.infeasible);
}

/// Feasible candidates with time, memory and energy; infeasible ones with memory.
void search_estimates(benchmark::State& state) { run(state, true); }
BENCHMARK(search_estimates)->Unit(benchmark::kMillisecond);

/// A whole search without the engine's play, parts made on the way, in so many shards one after the
/// other: what a shard makes anew that another has made shows.
void search_shards(benchmark::State& state) {
  const search::Space space = gpt3_space("");
  const auto shards = static_cast<size_t>(state.range(0));
  int64_t candidates = 0;
  for (auto _ : state)
    for (size_t number = 1; number <= shards; ++number)
      candidates += search::estimate(space, {}, {.shard = {number, shards}}, *spread::thread_crew())
                        ->candidates;
  state.counters["candidates"] =
      benchmark::Counter(static_cast<double>(candidates), benchmark::Counter::kIsRate);
}
BENCHMARK(search_shards)->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);

/// Memory alone.
void search_memory(benchmark::State& state) { run(state, false); }
BENCHMARK(search_memory)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ergometer::bench
