#include "analysis/math/level_changes.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kPenalty = 6;  // chosen for the false-alarm rate that the header states

/// Spread of differences over `lag` intervals, as a standard deviation of them.
double difference_spread(std::span<const double> values, size_t lag) {
  std::vector<double> differences;
  for (size_t i = lag; i < values.size(); ++i)
    differences.push_back(std::abs(values[i] - values[i - lag]));
  return 1.4826 * base::upper_median(std::move(differences));
}

/// (1 + r) / (1 - r): by how much means of values that hang together scatter more. For a first
/// order process the differences' variances over one and two intervals are as 1 to 1 + r.
double correlation_factor(std::span<const double> values) {
  constexpr double kMostCorrelated = 0.9;
  const double one = difference_spread(values, 1), two = difference_spread(values, 2);
  if (!(one > 0)) return 1;
  const double r = std::clamp(two * two / (one * one) - 1, 0.0, kMostCorrelated);
  return (1 + r) / (1 - r);
}

std::vector<double> without_spikes(std::span<const double> values, double noise) {
  constexpr size_t kReach = 5;
  constexpr double kFar = 4;
  std::vector<double> calm(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t from = i < kReach ? 0 : i - kReach, to = std::min(values.size(), i + kReach + 1);
    const double middle =
        base::upper_median<double>({values.begin() + static_cast<std::ptrdiff_t>(from),
                                    values.begin() + static_cast<std::ptrdiff_t>(to)});
    calm[i] = std::clamp(values[i], middle - kFar * noise, middle + kFar * noise);
  }
  return calm;
}

class Segmentation {
 public:
  Segmentation(std::span<const double> values, const LevelOptions& options);
  std::vector<LevelChange> take();

 private:
  struct Cut {
    size_t at = 0;
    double gain = 0;
  };
  double mean(size_t from, size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }
  bool counts(double before, double after) const {
    return std::abs(after - before) >=
           std::max(options_.least_move,
                    options_.least_part * std::max(std::abs(before), std::abs(after)));
  }
  void split(size_t from, size_t to);

  LevelOptions options_;
  double variance_ = 0;
  std::vector<double> sums_;  ///< of the values before each
  std::vector<Cut> cuts_;
};

Segmentation::Segmentation(std::span<const double> values, const LevelOptions& options)
    : options_(options), sums_(1, 0.0) {
  const double noise = neighbour_noise(values);
  variance_ = noise * noise * correlation_factor(values);
  for (const double value : without_spikes(values, noise)) sums_.push_back(sums_.back() + value);
}

void Segmentation::split(size_t from, size_t to) {
  if (to - from < 2 * options_.shortest) return;
  Cut best;
  for (size_t cut = from + 1; cut < to; ++cut) {
    const double n1 = static_cast<double>(cut - from), n2 = static_cast<double>(to - cut);
    const double move = mean(from, cut) - mean(cut, to);
    const double gain = n1 * n2 / (n1 + n2) * move * move;
    if (gain > best.gain) best = {cut, gain};
  }
  const double count = static_cast<double>(sums_.size() - 1);
  if (best.at == 0 || best.gain <= kPenalty * std::log(count) * variance_ ||
      !counts(mean(from, best.at), mean(best.at, to)))
    return;
  cuts_.push_back(best);
  split(from, best.at);
  split(best.at, to);
}

std::vector<LevelChange> Segmentation::take() {
  const size_t count = sums_.size() - 1;
  split(0, count);
  std::ranges::sort(cuts_, {}, &Cut::at);
  std::vector<LevelChange> changes;
  double level = 0;
  bool known = false;
  Cut strongest;  // since the last level
  for (size_t i = 0; i <= cuts_.size(); ++i) {
    const size_t from = i == 0 ? 0 : cuts_[i - 1].at, to = i < cuts_.size() ? cuts_[i].at : count;
    if (i > 0 && cuts_[i - 1].gain > strongest.gain) strongest = cuts_[i - 1];
    if (to - from < options_.shortest) continue;
    const double after = mean(from, to);
    if (known && counts(level, after)) changes.push_back({strongest.at, level, after});
    level = after;
    known = true;
    strongest = {};
  }
  return changes;
}

/// Means of groups of `size` neighbours; what is left at the end joins none.
std::vector<double> group_means(std::span<const run::Sample> samples, size_t size) {
  std::vector<double> means;
  for (size_t at = 0; at + size <= samples.size(); at += size) {
    double sum = 0;
    for (size_t i = at; i < at + size; ++i) sum += samples[i].value;
    means.push_back(sum / static_cast<double>(size));
  }
  return means;
}

}  // namespace

double neighbour_noise(std::span<const double> values) {
  constexpr size_t kFewest = 3;
  return values.size() < kFewest ? 0 : difference_spread(values, 1) / std::sqrt(2.0);
}

std::vector<LevelChange> level_changes(std::span<const double> values,
                                       const LevelOptions& options) {
  if (values.size() < 2 * options.shortest) return {};
  return Segmentation(values, options).take();
}

size_t first_behind(std::span<const run::Sample> samples, double before, double after) {
  double cost = 0, least = 0;
  size_t best = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double from_before = samples[i].value - before, from_after = samples[i].value - after;
    cost += from_before * from_before - from_after * from_after;
    if (cost >= least) continue;
    least = cost;
    best = i + 1;
  }
  return best;
}

std::vector<ChangePoint> reading_changes(std::span<const run::Sample> samples,
                                         const LevelOptions& options) {
  constexpr size_t kFewestReadings = 40, kMostGroups = 240;
  if (samples.size() < kFewestReadings) return {};
  const size_t size = (samples.size() + kMostGroups - 1) / kMostGroups;
  std::vector<ChangePoint> changes;
  for (const LevelChange& change : level_changes(group_means(samples, size), options)) {
    const size_t at = change.at * size, from = at - std::min(at, 2 * size),
                 to = std::min(samples.size(), at + 2 * size);
    const size_t first =
        from + first_behind(samples.subspan(from, to - from), change.before, change.after);
    changes.push_back(
        {samples[std::min(first, samples.size() - 1)].time_ns, change.before, change.after});
  }
  return changes;
}

}  // namespace ergometer::analysis
