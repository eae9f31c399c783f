// Worked: groups of 4 and 4, 3 and 1 tiles on two replicas, two micro batches: distances
// (0 + 0) / 8 and (0 + 2) / 6, mean 0.167.
#include "workload/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/exponential.h"

namespace ergometer::workload {
namespace {

using spec::LengthKind;
using spec::SamplePacking;
using Samples = std::vector<Sample>;

constexpr int64_t kNearlyFull = 128;  // tokens that a full group may lack

int64_t tokens_of(const Sample& sample) {
  return std::accumulate(sample.lengths.begin(), sample.lengths.end(), int64_t{0});
}

/// Fisher and Yates'.
template <class T>
void shuffle(std::vector<T>& items, const base::Random& random) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<size_t>(random.below(i, static_cast<int64_t>(i)))]);
}

/// A sample on its way into a group.
struct Piece {
  size_t sample = 0;
  int64_t tokens = 0, tiles = 0;
};
using Pieces = std::vector<Piece>;

/// Pieces that lie beside each other and fit together.
struct Group {
  size_t begin = 0, end = 0;
  int64_t tokens = 0, tiles = 0;
};

/// The group that begins at `begin`: as many pieces as fit.
Group group_at(const Pieces& pieces, size_t begin, const PackingLimits& limits) {
  Group group{begin, begin, 0, 0};
  for (; group.end < pieces.size(); ++group.end) {
    const Piece& piece = pieces[group.end];
    const bool fits = group.tokens + piece.tokens <= limits.tokens &&
                      (limits.tiles == 0 || group.tiles + piece.tiles <= limits.tiles);
    if (!fits && group.end > begin) break;
    group.tokens += piece.tokens;
    group.tiles += piece.tiles;
  }
  return group;
}

Sample joined(const Samples& samples, const Pieces& pieces, const Group& group) {
  Sample sample;
  sample.tiles = group.tiles;
  for (size_t i = group.begin; i < group.end; ++i) {
    const std::vector<int64_t>& lengths = samples[pieces[i].sample].lengths;
    sample.lengths.insert(sample.lengths.end(), lengths.begin(), lengths.end());
  }
  return sample;
}

bool is_full(const Group& group, const PackingLimits& limits) {
  return group.tokens >= limits.tokens - kNearlyFull ||
         (limits.tiles > 0 && group.tiles >= limits.tiles);
}

/// Lognormal with that mean and standard deviation: median x exp(sigma z).
double lognormal(double mean, double deviation, double normal) {
  if (mean <= 0) return 0;
  const double variance = std::log(1 + deviation * deviation / (mean * mean));
  return mean * base::exponential(std::sqrt(variance) * normal - variance / 2);
}

/// The `number`-th sample of an endless row.
Sample drawn(const spec::Job& job, const base::Random& random, uint64_t number) {
  const spec::SequenceLengths& lengths = job.training.sequence_lengths;
  if (lengths.kind == LengthKind::kSamples) {
    const auto which = random.below(number, std::ssize(lengths.samples));
    const spec::SampleSize& sample = lengths.samples[static_cast<size_t>(which)];
    return {{sample.tokens}, sample.tiles};
  }
  const spec::SampleMoments& of = lengths.moments;
  const auto per_image = static_cast<double>(job.training.tiles_per_image);
  const double images =
      lognormal(of.tiles, of.tiles_deviation, random.normal(2 * number)) / per_image;
  // Images that a sequence does not hold whole are left out.
  const int64_t whole = std::min<int64_t>(
      std::llround(std::min(images, 1e6)),
      job.training.seq_length / (job.training.tiles_per_image * job.model.vision->tokens()));
  const int64_t tiles = whole * job.training.tiles_per_image;
  const double text = lognormal(of.text, of.text_deviation, random.normal(2 * number + 1));
  const int64_t tokens = std::llround(std::min(text, 1e9)) + tiles * job.model.vision->tokens();
  return {{std::clamp<int64_t>(tokens, 1, job.training.seq_length)}, tiles};
}

Samples drawn_samples(const spec::Job& job, int64_t step, int64_t count) {
  const base::Random random(static_cast<uint64_t>(job.training.sequence_seed),
                            static_cast<uint64_t>(step), "samples");
  Samples samples;
  for (int64_t i = 0; i < count; ++i)
    samples.push_back(drawn(job, random, static_cast<uint64_t>(i)));
  return samples;
}

}  // namespace

std::vector<Sample> pack(const std::vector<Sample>& samples, const PackingLimits& limits,
                         int64_t rounds, uint64_t seed) {
  Pieces pieces, left;
  for (const Sample& sample : samples)
    pieces.push_back({pieces.size(), tokens_of(sample), sample.tiles});
  Samples packed;
  for (int64_t round = 0; round < rounds && !pieces.empty(); ++round) {
    shuffle(pieces, base::Random(seed, static_cast<uint64_t>(round), "packing"));
    left.clear();
    for (size_t at = 0; at < pieces.size();) {
      const Group group = group_at(pieces, at, limits);
      if (round + 1 == rounds || is_full(group, limits))
        packed.push_back(joined(samples, pieces, group));
      else
        left.insert(left.end(), pieces.begin() + static_cast<std::ptrdiff_t>(at),
                    pieces.begin() + static_cast<std::ptrdiff_t>(group.end));
      at = group.end;
    }
    pieces.swap(left);
  }
  shuffle(packed, base::Random(seed, static_cast<uint64_t>(rounds), "packed"));
  return packed;
}

std::vector<Sample> image_samples(const spec::Job& job, int64_t step) {
  const spec::Training& t = job.training;
  if (t.sample_packing == SamplePacking::kNone) return drawn_samples(job, step, t.global_batch);
  const bool both = t.sample_packing == SamplePacking::kBoth;
  const PackingLimits limits{t.seq_length, both ? t.pack_tiles : 0};
  // A packed sample rarely holds more than so many; where it does more are drawn.
  for (int64_t each = 4;; each *= 2) {
    Samples packed = pack(drawn_samples(job, step, each * t.global_batch), limits,
                          both ? t.packing_rounds : 1, static_cast<uint64_t>(step));
    if (std::ssize(packed) < t.global_batch) continue;
    packed.resize(static_cast<size_t>(t.global_batch));
    return packed;
  }
}

PackingRatios packing_ratios(const spec::Job& job, const std::vector<MicroBatch>& batches) {
  const spec::Training& t = job.training;
  const bool packed = t.sample_packing != SamplePacking::kNone;
  const auto replicas = job.parallelism.dp;
  const auto count = static_cast<double>(batches.size());
  PackingRatios ratios;
  double room = 0, real = 0;
  const auto distance = [&](size_t first, auto value) {
    int64_t most = 0, sum = 0;
    for (size_t i = first; i < first + static_cast<size_t>(replicas); ++i) {
      most = std::max(most, value(batches[i]));
      sum += value(batches[i]);
    }
    const auto all = static_cast<double>(most * replicas);
    return most > 0 ? (all - static_cast<double>(sum)) / all * static_cast<double>(replicas) / count
                    : 0;
  };
  for (size_t first = 0; first < batches.size(); first += static_cast<size_t>(replicas)) {
    ratios.token_distance += distance(first, [](const MicroBatch& it) { return it.tokens; });
    ratios.tile_distance += distance(first, [](const MicroBatch& it) { return it.tiles; });
  }
  for (const MicroBatch& batch : batches) {
    room += static_cast<double>(packed ? t.micro_batch * t.seq_length : batch.tokens);
    real += static_cast<double>(batch.real_tokens);
    ratios.tokens += static_cast<double>(batch.tokens) / count;
    ratios.tiles += static_cast<double>(batch.tiles) / count;
  }
  ratios.padding = room > 0 ? 1 - real / room : 0;
  return ratios;
}

}  // namespace ergometer::workload
