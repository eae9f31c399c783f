// Beside the lowered micro batch of T tokens in documents of D tokens, another has
//
//   load of tokens     = its tokens / T
//   load of attention  = sum over its documents of p(l) / p,   p: pairs that a kernel computes of
//                        a document (`executed_pairs`: l^2 / 2 and half a tile a query, a window
//                        less), p without l: of the lowered one
//
//   load of the vision tower = its tiles / those of the lowered one
//
// An operator's price at a load is on the straight line through its prices at `base` and at `most`.
// Of attention that is exact: its time is linear in the keys a query meets. T and D are the means
// of the step; `most` holds all micro batches, and is at least half as much more as the mean, so
// that steps of kernels' tiles do not set the slope.
#include "workload/sequence_loads.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/collection.h"
#include "workload/sequences.h"

namespace ergometer::workload {
namespace {

using Batches = std::vector<MicroBatch>;

/// Where packed, micro batches are as long as all are without documents.
bool is_packed(const spec::Job& job) {
  return job.training.sequence_batching == spec::SequenceBatching::kPacked;
}

int64_t rounded(double tokens, int64_t multiple) {
  const auto parts = static_cast<int64_t>(std::ceil(tokens / static_cast<double>(multiple)));
  return std::max<int64_t>(1, parts) * multiple;
}

/// Tokens come in equal parts for all ranks that divide them.
BatchSize size_of(const spec::Job& job, double tokens, double length) {
  const spec::Training& t = job.training;
  const int64_t even = t.micro_batch * t.seq_length;
  const int64_t all =
      is_packed(job) ? even : rounded(tokens, 2 * job.parallelism.cp * job.parallelism.tp);
  const int64_t longest = is_packed(job) ? t.seq_length : all;
  return {all, std::clamp<int64_t>(std::llround(length), 1, longest)};
}

double pairs_of(const Shapes& shapes, int64_t window) {
  return static_cast<double>(shapes.batch * shapes.cp) * executed_pairs(shapes, window);
}

double pairs_of(const MicroBatch& batch, int64_t window) {
  double sum = 0;
  for (const int64_t length : batch.lengths) {
    Shapes document;
    document.query_length = document.key_length = length;
    sum += executed_pairs(document, window);
  }
  return sum;
}

double most_tokens(const Batches& batches) {
  return base::largest(batches, 0.0, &MicroBatch::tokens);
}

double total(const Batches& batches, auto value) {
  return std::accumulate(batches.begin(), batches.end(), 0.0, [&](double sum, const auto& batch) {
    return sum + static_cast<double>(value(batch));
  });
}

void set_sizes(const spec::Job& job, const Batches& batches, SequenceLoads& loads) {
  constexpr double kLeastMore = 1.5;
  const double count = static_cast<double>(batches.size());
  const double tokens = total(batches, [](const MicroBatch& it) { return it.tokens; });
  const double pairs = total(batches, [](const MicroBatch& it) { return it.pairs(); });
  const double most_pairs = base::largest(batches, 0.0, &MicroBatch::pairs);
  loads.base = size_of(job, tokens / count, 2 * pairs / tokens);
  const double full_tokens = std::max(most_tokens(batches), kLeastMore * tokens / count);
  const double length = 2 * most_pairs / (is_packed(job) ? tokens / count : full_tokens);
  loads.most = size_of(job, full_tokens,
                       std::max(length, kLeastMore * static_cast<double>(loads.base.length)));
  if (job.model.vision == nullptr) return;
  const int64_t most_tiles = base::largest(batches, int64_t{0}, &MicroBatch::tiles);
  const double tiles = total(batches, [](const MicroBatch& it) { return it.tiles; }) / count;
  loads.base.tiles = std::max<int64_t>(1, std::llround(tiles));
  loads.most.tiles =
      std::max<int64_t>({most_tiles, loads.base.tiles + 1, std::llround(kLeastMore * tiles)});
}

void set_windows(const spec::Job& job, SequenceLoads& loads) {
  const Shapes base = shapes_of_batch(job, loads.base), most = shapes_of_batch(job, loads.most);
  for (const spec::Layer& layer : job.model.layers) {
    const int64_t window = layer_window(base, layer);
    if (!base::contains(loads.windows, window)) loads.windows.push_back(window);
  }
  loads.full = {static_cast<double>(loads.most.tokens) / static_cast<double>(loads.base.tokens)};
  for (const int64_t window : loads.windows)
    loads.full.push_back(pairs_of(most, window) / pairs_of(base, window));
  if (loads.has_tiles())
    loads.full.push_back(static_cast<double>(loads.most.tiles) /
                         static_cast<double>(loads.base.tiles));
}

void set_loads(const spec::Job& job, const Batches& batches, SequenceLoads& loads) {
  const Shapes base = shapes_of_batch(job, loads.base);
  loads.loads.assign(loads.full.size(), {});
  for (const MicroBatch& batch : batches) {
    loads.loads[0].push_back(static_cast<double>(batch.tokens) /
                             static_cast<double>(loads.base.tokens));
    for (size_t i = 0; i < loads.windows.size(); ++i)
      loads.loads[i + 1].push_back(pairs_of(batch, loads.windows[i]) /
                                   pairs_of(base, loads.windows[i]));
    if (loads.has_tiles())
      loads.loads.back().push_back(static_cast<double>(batch.tiles) /
                                   static_cast<double>(loads.base.tiles));
  }
}

std::vector<double> work_of_replicas(const spec::Job& job, const Batches& batches) {
  const CostInTokens cost(job.model);
  std::vector<double> work(static_cast<size_t>(job.parallelism.dp));
  for (size_t i = 0; i < batches.size(); ++i) work[i % work.size()] += cost(batches[i]);
  return work;
}

double most_work(const spec::Job& job, const Batches& batches) {
  const std::vector<double> work = work_of_replicas(job, batches);
  return *std::ranges::max_element(work);
}

StepTotals totals_of(const Batches& batches) {
  return {.tokens = total(batches, [](const MicroBatch& it) { return it.tokens; }),
          .real_tokens = total(batches, [](const MicroBatch& it) { return it.real_tokens; }),
          .pairs = total(batches, [](const MicroBatch& it) { return it.pairs(); }),
          .real_pairs = total(batches, [](const MicroBatch& it) { return it.real_pairs; }),
          .tiles = total(batches, [](const MicroBatch& it) { return it.tiles; })};
}

void set_totals(const spec::Job& job, const Batches& batches, SequenceLoads& loads) {
  const std::vector<double> work = work_of_replicas(job, batches);
  const auto slowest = std::ranges::max_element(work);
  loads.slowest = slowest - work.begin();
  loads.slowest_load =
      *slowest * static_cast<double>(work.size()) / std::accumulate(work.begin(), work.end(), 0.0);
  loads.totals = totals_of(batches);
}

Batches typical_step(const spec::Job& job) {
  std::vector<std::pair<double, Batches>> steps;  // with their work
  double mean = 0;
  for (int64_t step = 0; step < kDrawnSteps; ++step) {
    Batches batches = draw_step(job, step);
    const double work = most_work(job, batches);
    mean += work / static_cast<double>(kDrawnSteps);
    steps.emplace_back(work, std::move(batches));
  }
  const auto nearest = std::ranges::min_element(
      steps, {}, [mean](const auto& step) { return std::abs(step.first - mean); });
  return std::move(nearest->second);
}

SequenceLoads empty_loads(const spec::Job& job) {
  SequenceLoads loads;
  loads.replicas = job.parallelism.dp;
  loads.micro_batches = job.micro_batches();
  return loads;
}

}  // namespace

size_t SequenceLoads::measure(const Operator& op) const {
  if (op.vision && has_tiles()) return windows.size() + 1;
  if (op.kind != OperatorKind::kAttention) return 0;
  const auto found = std::ranges::find(windows, op.attention.window);
  ERGOMETER_CHECK(found != windows.end(), "a window of no layer");
  return static_cast<size_t>(found - windows.begin()) + 1;
}

double SequenceLoads::largest(size_t measure, int64_t micro_batch) const {
  const auto row = loads[measure].begin() + micro_batch * replicas;
  return *std::max_element(row, row + replicas);
}

double SequenceLoads::over_mean(size_t measure, int64_t replica) const {
  double own = 0;
  for (int64_t batch = 0; batch < micro_batches; ++batch) own += of(measure, batch, replica);
  const std::vector<double>& all = loads[measure];
  return own * static_cast<double>(replicas) / std::accumulate(all.begin(), all.end(), 0.0);
}

SequenceLoads sequence_loads(const spec::Job& job) {
  if (job.training.sequence_lengths.is_even()) return {};
  const Batches batches = typical_step(job);
  SequenceLoads loads = empty_loads(job);
  set_sizes(job, batches, loads);
  set_windows(job, loads);
  set_loads(job, batches, loads);
  set_totals(job, batches, loads);
  return loads;
}

SequenceLoads sequence_loads(const spec::Job& job, int64_t step, const SequenceLoads& lowered) {
  const Batches batches = draw_step(job, step);
  SequenceLoads loads = lowered;
  set_loads(job, batches, loads);
  set_totals(job, batches, loads);
  return loads;
}

StepTotals mean_step_totals(const spec::Job& job) {
  Batches all;
  for (int64_t step = 0; step < kDrawnSteps; ++step) {
    const Batches batches = draw_step(job, step);
    all.insert(all.end(), batches.begin(), batches.end());
  }
  StepTotals mean = totals_of(all);
  for (double* sum : {&mean.tokens, &mean.real_tokens, &mean.pairs, &mean.real_pairs, &mean.tiles})
    *sum /= static_cast<double>(kDrawnSteps);
  return mean;
}

Shapes shapes_of_batch(const spec::Job& job, const BatchSize& size) {
  Shapes shapes = shapes_of(job);
  shapes.document_length = size.length;
  if (size.tiles > 0) shapes.tiles = size.tiles;
  if (is_packed(job)) return shapes;
  shapes.batch = 1;
  shapes.key_length = size.tokens;
  shapes.query_length = shapes.tokens = size.tokens / shapes.cp;
  shapes.shard_tokens = shapes.sequence_parallel ? shapes.tokens / shapes.tp : shapes.tokens;
  return shapes;
}

}  // namespace ergometer::workload
