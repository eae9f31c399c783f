#pragma once

#include <limits>
#include <vector>

#include "search/search.h"

namespace ergometer::search {

/// Of estimates: nine in ten are this close to the engine (docs/models/search.md).
constexpr double kMargin = 0.02;
/// What is played: two estimates, each within kMargin, are the square root of 2 further apart.
constexpr double kPlayedMargin = 0.03;
/// What a layout may cost more than one that perhaps does not fit: less than any prediction's
/// interval, and a job that does not fit is worth nothing.
constexpr double kWorthSurety = 0.05;

/// What a search keeps of the candidates that it has estimated: those that the engine is to play,
/// and the front. Every thread has one; what all keep together does not depend on who saw what.
///
/// Limits are decided by the engine. So that an estimate's error costs no winner, the best are kept
/// whose estimates are somewhat above a limit, at it and somewhat below; and for each limit the
/// best without it, which says whether it binds. Whether a candidate surely fits is the engine's
/// to say too: beside the best, the best of those that need less memory are kept.
class Kept {
 public:
  Kept(const Space& space, const SearchOptions& options);

  void offer(const Found& found);
  /// Whether no candidate would be kept whose estimate is at best `least`.
  bool hopeless(const Found& least) const;
  /// Whatever is kept, by number. Offered to another one, which has seen other candidates, both
  /// together keep what one would that has seen all.
  std::vector<Found> all() const;

  /// To be played, in the order of their estimates.
  std::vector<Found> to_play() const;
  /// Beside these, to be played where the best of them perhaps does not fit; in the same order.
  std::vector<Found> leaner() const;
  /// The best without each of `SearchOptions::limits`, where there is one.
  const Found* without(size_t limit) const;
  const std::vector<Found>& front() const { return front_.found(); }

 private:
  struct Pool {
    Best best;
    Limits limits;
    double most_bytes = std::numeric_limits<double>::infinity();
  };
  std::vector<Found> with_pools(std::vector<Found> more) const;
  std::vector<Found> worthy() const;
  std::vector<Found> sorted(std::vector<Found> found) const;
  double worth_surety() const;
  Objective objective_;
  bool needs_power_;
  double worst_;
  Limits limits_;
  std::vector<Pool> pools_;  ///< by share of the limits; with limits, then without each
  std::vector<Pool> lean_;   ///< by share of a GPU's memory
  Front front_;
};

}  // namespace ergometer::search
