#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/run.h"
#include "search/front.h"
#include "search/space/space.h"

namespace ergometer::search {

/// What a candidate may have most of, by the engine: seconds of a step, watts of a GPU in the mean,
/// degrees Celsius of the hottest GPU. 0: no limit.
constexpr size_t kLimits = 3;
struct Limits {
  std::array<double, kLimits> most{};

  bool any() const;
  bool allow(double step_s, double gpu_w, double gpu_c) const;
  /// What is limited, of a run.
  static std::array<double, kLimits> of(const run::Run& run);
};

/// What a search of a space tells another of the same layouts, on a cluster that differs in one
/// number.
struct Known {
  /// 0: not known.
  struct OfLayout {
    double least_s = 0;     ///< what nothing that fits can go below, whatever the network
    double more_bytes = 0;  ///< by how much what is next to fit misses the capacity
  };
  std::vector<Found> kept;  ///< by number
  std::vector<OfLayout> layouts;
};
/// How that cluster differs from the one of which something is known.
enum class Differs : uint8_t { kMemory, kNetwork };

struct SearchOptions {
  Objective objective = Objective::kTime;
  size_t top = 10;
  Limits limits;
  std::vector<Objective> pareto;  ///< empty: no front
  size_t threads = 1;
  double worst = std::numeric_limits<double>::infinity();  ///< estimated above it: of no interest
  bool prune = true;      ///< leave out what cannot be among the best
  bool simplest = false;  ///< first is the simplest of those that cannot be told apart
  bool play = true;       ///< the best ones on the engine; else estimates are the answer
  const std::atomic<bool>* stop = nullptr;  ///< set: answer with what was found so far
  const Known* known = nullptr;             ///< may be null
  Differs differs = Differs::kMemory;       ///< from the cluster of `known`
  double more_bytes = 0;                    ///< of memory a GPU than there

  /// Whether the answer depends on watts, joules or degrees.
  bool needs_power() const;
};

/// A candidate that the engine played.
struct Played {
  Found found;
  spec::Job job;
  run::Run run;
  int64_t alike = 0;  ///< others with the same time and memory, which it stands for
};

/// The objective by the engine.
double played_value(Objective objective, const Played& played);

/// One of the limits: whether something better were to be had without it.
struct LimitAnswer {
  size_t limit = 0;               ///< index into `Limits::most`
  std::optional<Played> without;  ///< the better one; none: this limit does not bind by itself
  /// Of watts and degrees: that one under the highest power cap, in steps of 10 W, with which it
  /// keeps to all limits, where it is better than what the search found within them.
  std::optional<Played> capped;
};

/// What would need least memory of all that does not fit; on one rank, with what the allocator
/// reserves, in bytes.
struct NearestMiss {
  Candidate candidate;
  double needed = 0, capacity = 0;
  int64_t number = 0;
};
/// The nearer of two, of equals the first by number.
void take_nearer(const std::optional<NearestMiss>& other, std::optional<NearestMiss>& nearest);

struct SearchResult {
  int64_t layouts = 0;
  int64_t candidates = 0;  ///< legal ones
  int64_t feasible = 0;    ///< of these, those that fit into memory
  int64_t estimated = 0;   ///< of these, those whose time had to be estimated
  bool complete = true;
  std::optional<NearestMiss> nearest;  ///< where nothing fits
  Known known;
  /// Of those played, which cannot be told from the first one, itself among them.
  int64_t tied = 0;
  std::vector<Played> best;  ///< by the engine's numbers, best first
  std::vector<Found> front;  ///< by the estimates
  std::vector<LimitAnswer> limits;
};

/// An error: the answer needs watts that the catalog does not know.
Result<void> check_power(const Space& space, const SearchOptions& options);

/// Goes through the whole space with closed-form estimates, then plays the best ones, and those
/// whose estimates are too close to theirs to tell, on the engine. The answer depends on the space
/// and the options, not on threads.
Result<SearchResult> search(const Space& space, const SearchOptions& options);

/// One knob of a candidate turned, everything else as it is.
struct Turned {
  std::string knob, value;
  bool fits = false;
  Estimate estimate;
};
/// What each knob is worth: the estimates of a candidate and of its neighbours, each alone, so that
/// they compare.
struct Knobs {
  Estimate winner;
  std::vector<Turned> turned;
};
Knobs turn_knobs(const Space& space, const Candidate& winner);

}  // namespace ergometer::search
