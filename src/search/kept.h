#pragma once

#include <vector>

#include "search/search.h"

namespace ergometer::search {

/// Of estimates: nine in ten are this close to the engine (docs/models/search.md).
constexpr double kMargin = 0.02;
/// What is played: two estimates, each within kMargin, are the square root of 2 further apart.
constexpr double kPlayedMargin = 0.03;

/// What a search keeps of the candidates that it has estimated: those that the engine is to play,
/// and the front. Every thread has one; what all keep together does not depend on who saw what.
///
/// Limits are decided by the engine. So that an estimate's error costs no winner, the best are kept
/// whose estimates are somewhat above a limit, at it and somewhat below; and for each limit the
/// best without it, which says whether it binds.
class Kept {
 public:
  explicit Kept(const SearchOptions& options);

  void offer(const Found& found);
  /// Whether no candidate would be kept whose estimate is at best `least`.
  bool hopeless(const Found& least) const;
  /// Whatever is kept, by number. Offered to another one, which has seen other candidates, both
  /// together keep what one would that has seen all.
  std::vector<Found> all() const;

  /// To be played, in the order of their estimates.
  std::vector<Found> to_play() const;
  /// The best without each of `SearchOptions::limits`, where there is one.
  const Found* without(size_t limit) const;
  const std::vector<Found>& front() const { return front_.found(); }

 private:
  std::vector<Found> with_pools(std::vector<Found> more) const;
  struct Pool {
    Best best;
    Limits limits;
  };
  Objective objective_;
  bool needs_power_;
  double worst_;
  Limits limits_;
  std::vector<Pool> pools_;  ///< by share of the limits; with limits, then without each
  Front front_;
};

}  // namespace ergometer::search
