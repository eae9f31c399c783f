#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/ranks/collective_match.h"
#include "run/gpu_trace.h"
#include "run/host_clock.h"

namespace ergometer::analysis {

// How one clock runs against another. What is seen of two clocks are differences whose error has a
// bound: half of a probe's round trip, or the length of the shortest kernel of a collective that
// ended on both. In every window of time the one with the tightest bound is kept, and a line is
// laid through those by least squares, each weighted by 1 / bound^2. The line's error at time t is
// sum h_i(t) e_i with |e_i| <= bound_i, so it is at most sum |h_i(t)| bound_i, for clocks whose
// rates do not change meanwhile. This, or the largest distance of a kept difference from the line
// where that is larger, is the uncertainty.
//
// Worked: two probes, 100 s apart, of offset 5 ms and 10 ms, round trips of 2 ms: drift 50 ppm,
// uncertainty 1 ms at either end, drift's uncertainty (1 + 1) ms / 100 s = 20 ppm.

/// Reference time = own time + offset, the offset growing by `drift_ppm` of own time from `at_ns`.
struct ClockModel {
  int64_t at_ns = 0;          ///< own time
  double offset_ns = 0;       ///< at that time
  double drift_ppm = 0;       ///< 0 where one difference is all there is
  double uncertainty_ns = 0;  ///< bound of the offset's error between first and last sample
  double drift_uncertainty_ppm = 0;
  int64_t samples = 0;  ///< differences that the line rests on

  /// Nanoseconds to add to an own time.
  int64_t offset_at(int64_t own_ns) const;
};

/// One seen difference of two clocks.
struct ClockDifference {
  int64_t own_ns = 0;
  double offset_ns = 0;  ///< reference minus own
  double bound_ns = 0;   ///< of its error, either way
};
/// The line through them; nothing without any. Differences that contradict most others (a pair
/// that was matched wrongly, a clock that was set) are left out.
std::optional<ClockModel> fit_clock(std::vector<ClockDifference> differences);

/// The peer's clock as reference: own time is `sent_ns`. Probes with times in the wrong order are
/// left out.
std::optional<ClockModel> clock_from_probes(std::span<const run::ClockProbe> probes);

/// What is known of the clock of one rank's trace.
struct RankClock {
  int64_t rank = 0;
  bool known = false;    ///< collectives tie it to the reference
  bool applied = false;  ///< the offset is larger than its uncertainty: times are corrected by it
  ClockModel model;      ///< on top of `RankTrace::base_time_ns`; to the reference rank's clock
};
struct ClockTable {
  int64_t reference = -1;  ///< rank
  std::vector<RankClock> ranks;
  std::vector<int64_t> base_ns;      ///< of every trace: its zero on the earliest trace's epoch
  int64_t worst_uncertainty_ns = 0;  ///< of clocks that are known

  /// A time of a trace on the clock that all ranks share.
  int64_t common_ns(size_t trace, int64_t own_ns) const;
};
/// From the ends of all-reduces, all-gathers, reduce-scatters and all-to-alls: none can end on any
/// rank before the last rank joined, nor long after it ended there, and the rank that joined last
/// has the shortest kernel. So ends differ by no more than that kernel's length; an eighth of it is
/// taken (20 us at least), for data moves in steps. Ranks that share no group with the reference
/// are reached over others; uncertainties add up.
ClockTable align_clocks(const std::vector<run::RankTrace>& ranks,
                        const MatchedCollectives& collectives);

}  // namespace ergometer::analysis
