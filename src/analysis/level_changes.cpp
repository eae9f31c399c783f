#include "analysis/level_changes.h"

#include <algorithm>
#include <cmath>

#include "analysis/median.h"

namespace ergometer::analysis {
namespace {

constexpr double kPenalty = 6;  // chosen for the false-alarm rate that the header states

/// Spread of differences over `lag` intervals, as a standard deviation of them.
double difference_spread(std::span<const double> values, size_t lag) {
  std::vector<double> differences;
  for (size_t i = lag; i < values.size(); ++i)
    differences.push_back(std::abs(values[i] - values[i - lag]));
  return 1.4826 * median(std::move(differences));
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
    const double middle = median({values.begin() + static_cast<std::ptrdiff_t>(from),
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
  double mean(size_t from, size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }
  void split(size_t from, size_t to);

  LevelOptions options_;
  double variance_ = 0;
  std::vector<double> sums_;  ///< of the values before each
  std::vector<size_t> cuts_;
};

Segmentation::Segmentation(std::span<const double> values, const LevelOptions& options)
    : options_(options), sums_(1, 0.0) {
  const double noise = neighbour_noise(values);
  variance_ = noise * noise * correlation_factor(values);
  for (const double value : without_spikes(values, noise)) sums_.push_back(sums_.back() + value);
}

void Segmentation::split(size_t from, size_t to) {
  if (to - from < 2 * options_.shortest) return;
  double best_gain = 0;
  size_t best = 0;
  for (size_t cut = from + options_.shortest; cut + options_.shortest <= to; ++cut) {
    const double n1 = static_cast<double>(cut - from), n2 = static_cast<double>(to - cut);
    const double move = mean(from, cut) - mean(cut, to);
    const double gain = n1 * n2 / (n1 + n2) * move * move;
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = cut;
  }
  const double count = static_cast<double>(sums_.size() - 1);
  if (best == 0 || best_gain <= kPenalty * std::log(count) * variance_ ||
      std::abs(mean(best, to) - mean(from, best)) < options_.least_move)
    return;
  cuts_.push_back(best);
  split(from, best);
  split(best, to);
}

std::vector<LevelChange> Segmentation::take() {
  const size_t count = sums_.size() - 1;
  split(0, count);
  std::sort(cuts_.begin(), cuts_.end());
  std::vector<LevelChange> changes;
  for (size_t i = 0; i < cuts_.size(); ++i) {
    const size_t from = i == 0 ? 0 : cuts_[i - 1], to = i + 1 < cuts_.size() ? cuts_[i + 1] : count;
    const LevelChange change{cuts_[i], mean(from, cuts_[i]), mean(cuts_[i], to)};
    if (std::abs(change.after - change.before) >= options_.least_move) changes.push_back(change);
  }
  return changes;
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

}  // namespace ergometer::analysis
