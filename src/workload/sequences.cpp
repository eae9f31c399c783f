// Documents drawn and put into micro batches.
//
// Lognormal: median x exp(sigma z). Uniform: every whole length from the shortest to the longest.
// Counted: each length as often as it was counted.
//
// Worked: micro batches of one sequence of 4096. One document of 4096: 4096^2 / 2 = 8.39 M pairs.
// Two of 1024 and 3072: (1024^2 + 3072^2) / 2 = 5.24 M, 0.625 of it.
#include "workload/sequences.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/collection.h"
#include "base/exponential.h"
#include "base/random.h"
#include "workload/parameters.h"
#include "workload/samples.h"

namespace ergometer::workload {
namespace {

using spec::LengthKind;
using spec::SequenceBatching;
using Documents = std::vector<int64_t>;

/// An endless row of documents.
class DocumentDraw {
 public:
  DocumentDraw(const spec::SequenceLengths& lengths, uint64_t seed, int64_t step)
      : lengths_(lengths), random_(seed, static_cast<uint64_t>(step), "documents") {
    for (const auto& [length, documents] : lengths_.counts)
      up_to_.push_back(documents + (up_to_.empty() ? 0 : up_to_.back()));
  }

  int64_t next() {
    const uint64_t n = drawn_++;
    switch (lengths_.kind) {
      case LengthKind::kEven:
      case LengthKind::kSamples:
      case LengthKind::kMoments: break;
      case LengthKind::kLognormal: {
        const double factor = base::exponential(lengths_.second * random_.normal(n));
        return std::max<int64_t>(1, std::llround(std::min(lengths_.first * factor, kMost)));
      }
      case LengthKind::kUniform: {
        const auto first = static_cast<int64_t>(lengths_.first);
        return first + random_.below(n, static_cast<int64_t>(lengths_.second) - first + 1);
      }
      case LengthKind::kCounted: {
        const int64_t which = random_.below(n, up_to_.back());
        const auto at = std::ranges::upper_bound(up_to_, which);
        return lengths_.counts[static_cast<size_t>(at - up_to_.begin())].first;
      }
    }
    return 1;
  }

 private:
  static constexpr double kMost = 1e9;
  const spec::SequenceLengths& lengths_;
  base::Random random_;
  uint64_t drawn_ = 0;
  std::vector<int64_t> up_to_;
};

/// Documents that fill a sequence each.
std::vector<Documents> packed_samples(DocumentDraw& draw, int64_t samples, int64_t sequence) {
  std::vector<Documents> result(static_cast<size_t>(samples));
  int64_t rest = 0;
  for (Documents& sample : result)
    for (int64_t room = sequence; room > 0;) {
      if (rest == 0) rest = draw.next();
      const int64_t piece = std::min(rest, room);
      sample.push_back(piece);
      rest -= piece;
      room -= piece;
    }
  return result;
}

std::vector<Sample> without_images(std::vector<Documents> documents) {
  std::vector<Sample> samples;
  for (Documents& lengths : documents) samples.push_back({std::move(lengths), 0});
  return samples;
}

std::vector<Sample> samples_of(const spec::Job& job, int64_t step) {
  const spec::Training& t = job.training;
  if (t.sequence_lengths.has_images()) return image_samples(job, step);
  DocumentDraw draw(t.sequence_lengths, static_cast<uint64_t>(t.sequence_seed), step);
  if (t.sequence_batching == SequenceBatching::kPacked)
    return without_images(packed_samples(draw, t.global_batch, t.seq_length));
  std::vector<Documents> result;
  for (int64_t i = 0; i < t.global_batch; ++i)
    result.push_back({std::min(draw.next(), t.seq_length)});
  return without_images(std::move(result));
}

/// What lengths are a multiple of: whatever divides a sequence needs equal parts.
int64_t alignment(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  return (p.sequence_parallel ? p.tp : 1) * (p.cp > 1 ? 2 * p.cp : 1);
}

int64_t rounded_up(int64_t tokens, int64_t multiple) {
  return (tokens + multiple - 1) / multiple * multiple;
}

double squares(const Documents& documents) {
  return base::sum(documents, [&](int64_t length) {
    return static_cast<double>(length) * static_cast<double>(length);
  });
}

MicroBatch micro_batch(const spec::Job& job, Documents documents) {
  const spec::Training& t = job.training;
  MicroBatch batch;
  batch.real_tokens = std::accumulate(documents.begin(), documents.end(), int64_t{0});
  batch.real_pairs = squares(documents) / 2;
  const auto pad_to = [&](int64_t length) {
    std::ranges::fill(documents, length);
    batch.tokens = length * std::ssize(documents);
  };
  switch (t.sequence_batching) {
    case SequenceBatching::kPacked: batch.tokens = batch.real_tokens; break;
    case SequenceBatching::kPadded:
      pad_to(rounded_up(*std::ranges::max_element(documents), alignment(job)));
      break;
    case SequenceBatching::kPaddedToSeq: pad_to(t.seq_length); break;
    case SequenceBatching::kVariable:
      batch.tokens = rounded_up(batch.real_tokens, alignment(job));
      break;
  }
  batch.lengths = std::move(documents);
  return batch;
}

/// Of every row of micro batches that run at the same time the costliest to the replica that has
/// had least.
void deal(const spec::Model& model, size_t replicas, std::vector<MicroBatch>& batches) {
  const CostInTokens cost(model);
  std::vector<double> had(replicas);
  for (size_t first = 0; first < batches.size(); first += replicas) {
    const auto row = batches.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(row, row + static_cast<std::ptrdiff_t>(replicas),
                     [&](const MicroBatch& a, const MicroBatch& b) { return cost(a) > cost(b); });
    std::vector<size_t> order(replicas);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return had[a] < had[b]; });
    std::vector<MicroBatch> dealt(replicas);
    for (size_t i = 0; i < replicas; ++i) {
      dealt[order[i]] = std::move(batches[first + i]);
      had[order[i]] += cost(dealt[order[i]]);
    }
    std::move(dealt.begin(), dealt.end(), row);
  }
}

}  // namespace

double MicroBatch::pairs() const { return squares(lengths) / 2; }

CostInTokens::CostInTokens(const spec::Model& model) {
  double layers = 0;
  for (const spec::Layer& layer : model.layers) layers += layer.mixer == spec::Mixer::kAttention;
  // A token: 2 FLOPs a parameter; a pair: 2 a channel of its key and of its value.
  of_pair_ = 4 * layers * static_cast<double>(model.heads * model.head_dim);
  const ParameterCount count = count_parameters(model);
  of_token_ = 2 * static_cast<double>(count.active - count.vision);
  if (model.vision)
    of_tile_ =
        2 * static_cast<double>(count.vision) * static_cast<double>(model.vision->tile_tokens);
}

double CostInTokens::operator()(const MicroBatch& batch) const {
  return static_cast<double>(batch.tokens) +
         (batch.pairs() * of_pair_ + static_cast<double>(batch.tiles) * of_tile_) / of_token_;
}

std::vector<int64_t> draw_lengths(const spec::SequenceLengths& lengths, uint64_t seed, int64_t step,
                                  size_t count) {
  DocumentDraw draw(lengths, seed, step);
  std::vector<int64_t> drawn(count);
  for (int64_t& length : drawn) length = draw.next();
  return drawn;
}

std::vector<MicroBatch> draw_step(const spec::Job& job, int64_t step) {
  std::vector<Sample> samples = samples_of(job, step);
  const bool balanced = job.training.sequence_order == spec::SequenceOrder::kLengthBalanced;
  if (balanced)
    std::ranges::stable_sort(samples, [](const Sample& a, const Sample& b) {
      return squares(a.lengths) > squares(b.lengths);
    });
  const auto size = static_cast<size_t>(job.training.micro_batch);
  std::vector<MicroBatch> batches;
  for (size_t first = 0; first < samples.size(); first += size) {
    Documents documents;
    int64_t tiles = 0;
    for (size_t i = first; i < first + size; ++i) {
      const Sample& sample = samples[i];
      documents.insert(documents.end(), sample.lengths.begin(), sample.lengths.end());
      tiles += sample.tiles;
    }
    batches.push_back(micro_batch(job, std::move(documents)));
    batches.back().tiles = tiles;
  }
  if (balanced) deal(job.model, static_cast<size_t>(job.parallelism.dp), batches);
  return batches;
}

}  // namespace ergometer::workload
