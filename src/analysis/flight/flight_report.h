#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings/trace_summary.h"
#include "run/flight_dump.h"

namespace ergometer::analysis {

/// What a rank did at a collective. A dump holds its last calls only: of what lies before them it
/// is known that it ended.
enum class FlightDid : uint8_t { kCompleted, kStarted, kScheduled, kNotCalled, kNotKept };
std::string_view to_word(FlightDid did);

/// Ranks that did the same at a collective, from the same place in the program.
struct FlightCallers {
  FlightDid did = FlightDid::kCompleted;
  std::string name = {}, sizes = {}, dtypes = {};  ///< of the call; empty: none is kept
  std::string frame = {};  ///< of the call; of who did not call, of its last call of all
  std::vector<int64_t> ranks = {};
};

/// How the first collective that not all ranks of a group completed alike differs. A mismatch goes
/// before a rank that did not call, and this before a collective that did not end.
enum class FlightFault : uint8_t { kNone, kMismatch, kNotCalled, kNotCompleted };
std::string_view to_word(FlightFault fault);

/// One process group, of all dumps.
struct FlightGroupReport {
  std::string name, description;
  std::vector<int64_t> ranks;              ///< in the group's order, as far as it is known
  std::vector<int64_t> without_dump = {};  ///< of them
  int64_t last_completed = -1;             ///< by all that wrote a dump; -1: none is kept
  FlightFault fault = FlightFault::kNone;
  int64_t sequence = -1;                    ///< of the first collective at which they differ
  std::vector<FlightCallers> callers = {};  ///< what they did there, the most ranks first
  /// Whom the others wait for: who did not call, or called what fewer ranks did; in a collective
  /// that does not end, who wrote no dump or has not begun it.
  std::vector<int64_t> awaited = {};
};

/// A send or a receive that has not ended.
struct FlightPending {
  int64_t rank = -1, peer = -1;  ///< of the job; -1: the name does not tell
  bool send = false;
  bool answered = false;  ///< the peer has called the other half, which has not ended either
  FlightDid did = FlightDid::kScheduled;
  std::string group, name, frame;
};

/// Collectives of one name in one group, those that ended.
struct FlightTimes {
  std::string name, group;
  int64_t count = 0;
  int64_t timed = 0;                 ///< whose time on the GPU was measured
  double mean_s = 0, longest_s = 0;  ///< of these
};

/// How a rank comes to collectives that several dumps hold: by the clocks of the ranks' hosts,
/// which may differ by as much as hosts' do.
struct FlightArrivals {
  int64_t rank = -1;
  int64_t collectives = 0;
  int64_t last = 0;                      ///< in how many it came last
  int64_t median_ns = 0, latest_ns = 0;  ///< behind the first
};

struct FlightRank {
  int64_t rank = -1;
  std::string file, version;
  int64_t calls = 0;
};

/// What the flight recorders of a job's ranks tell together.
struct FlightReport {
  std::vector<FlightRank> ranks;
  std::vector<int64_t> without_dump;      ///< members of groups that wrote none
  std::vector<FlightGroupReport> groups;  ///< those that wait for a culprit first, then who waits
  std::vector<FlightPending> pending;     ///< in order of rank
  /// Ranks that others wait for and that wait for nobody themselves; none where all of these wait
  /// for each other.
  std::vector<int64_t> culprits;
  bool in_a_circle = false;  ///< ranks are waited for, and each of them waits too
  std::vector<FlightTimes> times;
  std::vector<FlightArrivals> arrivals;  ///< in order of the median, the latest first
  std::vector<Finding> findings;

  bool all_ended() const;
};

/// Dumps in order of rank, one a rank. Takes time in proportion to their calls, but for sorting.
FlightReport report_flight(const std::vector<run::FlightDump>& dumps);

/// "0-3, 7": ranks in increasing order, at most six stretches and how many more.
std::string rank_list(std::vector<int64_t> ranks);
/// "3 (TENSOR_MODEL_PARALLEL_GROUP)".
std::string group_title(const std::string& name, const std::string& description);

}  // namespace ergometer::analysis
