#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ranks/clock_offset.h"
#include "analysis/ranks/collective_match.h"
#include "analysis/ranks/event_graph.h"
#include "analysis/ranks/parallelism.h"
#include "analysis/telemetry/gpu_condition.h"
#include "run/device_log.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

// Why a process group's collectives take long: one rank came late, or all were there and the
// transfer was slow.
//
// Of each collective, the time before the last rank joined is waiting, the rest transfer. Ranks end
// a collective together, so how far a group's ends lie apart (median) says what is left of their
// clocks' difference: a collective whose ranks came within twice that, or within 5 us, tells
// nothing about who is late. Of the others, a rank for which more than half of all waiting is done
// is a straggler: "persistent" when it is also the last in more than half of them, in the first and
// the second half of them by themselves. Without such a rank the straggler is "moving".
//
// A late rank is compared with the median of the group's other ranks over the time since the
// collective that each of them had finished before: more time in compute kernels ("compute"), more
// time without any GPU event ("launch": its CPU, input or a copy held it up), or an earlier
// collective, of another group, that ended later for it ("inherited": the cause is in that group).
//
// A group is congested when its transfers take twice as long as the fastest tenth of the same kind
// and size, and more of its time goes into transfers than into waiting. Sizes must be known.

enum class GroupVerdict : uint8_t { kBalanced, kStraggler, kMovingStraggler, kCongested };
std::string_view to_word(GroupVerdict verdict);  ///< "straggler", "moving_straggler", ...

enum class LateCause : uint8_t { kUnknown, kCompute, kLaunch, kInherited };
std::string_view to_word(LateCause cause);

struct GroupSkew {
  std::string group, description;
  Parallelism parallelism;
  std::vector<int64_t> members;  ///< ranks whose traces are there
  int64_t size = -1;             ///< how many ranks it has, by its calls; -1: unknown
  int64_t collectives = 0;       ///< matched
  int64_t skewed = 0;            ///< with ranks further apart than clocks can tell
  int64_t waiting_ns = 0;        ///< sum over members
  int64_t transfer_ns = 0;       ///< from the last start to the first end, sum over collectives
  GroupVerdict verdict = GroupVerdict::kBalanced;
  /// Of a straggler:
  int64_t rank = -1;
  bool persistent = false;
  double last_share = 0;          ///< of skewed collectives that it joined last
  int64_t caused_waiting_ns = 0;  ///< sum over the others, of the collectives that it joined last
  /// With which it would compute, from one collective of the group to the next, as long as the
  /// median of its peers.
  std::vector<Pace> paces = {};
  /// With which its CPU would leave its GPU idle, before the collectives that it joined last, as
  /// long as the median of its peers.
  std::vector<Lead> leads = {};
  /// By how much the whole span shrinks when it computes as fast as they do, or its CPU is as early
  /// as theirs, whichever is the cause (a replay); -1: unknown.
  int64_t saved_if_equal_ns = -1;
  LateCause cause = LateCause::kUnknown;
  /// Than its peers' median, sums over the collectives that it joined last; `compared` of them have
  /// a collective before them to count from.
  int64_t compared = 0;
  int64_t more_compute_ns = 0, more_idle_ns = 0, inherited_ns = 0;
  std::optional<GpuCondition> condition;
  /// Of transfers: time in them over what they took at the group's best, and bandwidths where bytes
  /// are known.
  double slowdown = 1;
  double mean_bus_gb_per_s = 0, best_bus_gb_per_s = 0;
};

/// Of every group with two collectives or more, the one with the most waiting and transfer first.
/// Messages of a pipeline are left out: their receivers wait by its nature.
std::vector<GroupSkew> find_stragglers(const std::vector<run::RankTrace>& ranks,
                                       const MatchedCollectives& collectives,
                                       const ClockTable& clocks, const GroupLabels& labels,
                                       const run::DeviceLog& log);

}  // namespace ergometer::analysis
