#pragma once

#include <cstddef>
#include <vector>

#include "search/estimate/estimator.h"

namespace ergometer::search {

/// What is minimised.
enum class Objective : uint8_t { kTime, kEnergy, kEnergyDelay, kCost, kTokensPerJoule, kMemory };

/// A feasible candidate with its estimate. `number`: its place in the order of the search, which
/// breaks ties.
struct Found {
  Candidate candidate;
  Estimate estimate;
  int64_t gpus = 0;
  int64_t number = 0;
};

/// Smaller is better. Cost: GPU-seconds of a step.
double value_of(Objective objective, const Found& found);

/// The best of what is offered, best first: the `most` best, and all that are within `margin` (a
/// share) of the worst of these, at most `limit`. The order of offers does not matter.
class Best {
 public:
  Best(Objective objective, size_t most, double margin, size_t limit)
      : objective_(objective), most_(most), margin_(margin), limit_(limit) {}
  void offer(const Found& found);
  /// Nothing above this is kept any more.
  double threshold() const;
  const std::vector<Found>& found() const { return found_; }

 private:
  Objective objective_;
  size_t most_;
  double margin_;
  size_t limit_;
  std::vector<Found> found_;
};

/// Candidates that no other one beats or equals in all objectives at once; of equals the first.
class Front {
 public:
  explicit Front(std::vector<Objective> objectives) : objectives_(std::move(objectives)) {}
  void offer(const Found& found);
  /// Whether nothing that is at best as good as `least` can belong here: something there is at
  /// least as good in every objective and better in one.
  bool beats(const Found& least) const;
  const std::vector<Found>& found() const { return found_; }
  bool empty() const { return objectives_.empty(); }

 private:
  std::vector<Objective> objectives_;
  std::vector<Found> found_;
  std::vector<std::vector<double>> values_;
};

}  // namespace ergometer::search
