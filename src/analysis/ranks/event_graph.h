#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/ranks/clock_offset.h"
#include "analysis/ranks/collective_match.h"
#include "analysis/ranks/parallelism.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What a GPU event had to wait for; `analysis/ranks/critical_path.h` says how it is known.
struct EventNode {
  static constexpr size_t kNone = ~size_t{0};
  int64_t start_ns = 0, end_ns = 0;  ///< on the common clock
  size_t rank = 0;                   ///< among the traces
  uint32_t kind = 0;                 ///< into `EventGraph::kinds`
  size_t before = kNone;             ///< on its stream
  size_t waits_for = kNone;          ///< on another stream: inferred
  size_t meeting = kNone;            ///< into `EventGraph::meetings`
  bool launched = false;
  int64_t launch_ns = 0;          ///< its call on the CPU, common clock
  size_t cpu_after = kNone;       ///< the event for which the CPU waited last before that call
  int64_t cpu_waited_ns = 0;      ///< how long the CPU had waited for events until then, in all
  size_t over_at_launch = kNone;  ///< on another stream, what had ended last when it was called
  int64_t handed_over_ns = 0;  ///< of its time, what it takes to write and read tensors that only
                               ///< pass between neighbouring kernels (work/round_trips.h)
};

/// A collective of several ranks.
struct EventMeeting {
  std::vector<size_t> members;
  size_t latest = 0;     ///< the member that joined last
  int64_t last_ns = 0;   ///< its start
  bool message = false;  ///< a send and its receive
};

/// All GPU events of all ranks, in order of their starts, and what they wait for. The edges of a
/// node lead to nodes that stand before it.
struct EventGraph {
  std::vector<EventNode> nodes;
  std::vector<EventMeeting> meetings;
  std::vector<std::string> kinds;  ///< kernel classes that occur; "collective tp" with its label
};

/// `handed_over_ns`: by rank and event; empty: unknown.
EventGraph event_graph(const std::vector<run::RankTrace>& ranks,
                       const MatchedCollectives& collectives, const ClockTable& clocks,
                       const GroupLabels& labels,
                       const std::vector<std::vector<int64_t>>& handed_over_ns = {});

/// From a time on the common clock until the next one's, work takes this share of its time.
struct Pace {
  int64_t from_ns = INT64_MIN;
  double share = 1;
};

/// Behind a time on the common clock until the next one's, launches are called so much sooner.
struct Lead {
  int64_t from_ns = INT64_MIN;
  int64_t sooner_ns = 0;
};

/// What is different when the graph is played again; as it stands nothing is, and the span is that
/// of the traces. Every event starts as long after the last of what it waits for as it did.
///
/// However much sooner an event is launched, order between streams stays: what had ended when it
/// was launched ends before it, for it may have waited for that.
struct Replay {
  static constexpr uint32_t kNoKind = ~uint32_t{0};
  uint32_t free_kind = kNoKind;           ///< takes no time
  bool cpu_free = false;                  ///< no launch is ever late
  size_t faster_rank = EventNode::kNone;  ///< among the traces: its own work, collectives excepted,
  std::vector<Pace> paces = {};           ///< takes these shares of its time; in order of time
  std::vector<Lead> leads = {};           ///< and its CPU is so much earlier; in order of time
  std::vector<double> shares = {};  ///< by rank: its own work, collectives excepted, takes so much
                                    ///< of its time; empty: all of it
  bool ranks_free = false;          ///< nobody waits for others in collectives, but for those of
  uint32_t waits_at = kNoKind;      ///< this kind; messages are waited for
  bool cpu_unblocked = false;       ///< the CPU never waits for an event
  bool on_chip = false;             ///< `EventNode::handed_over_ns` are no time
  bool launches_free = false;       ///< nor is what a launch takes, from the call to the event
};
int64_t replayed_span(const EventGraph& graph, const Replay& replay);
/// The end of every rank that has events, from the first start of all.
std::vector<int64_t> replayed_ends(const EventGraph& graph, const Replay& replay);

}  // namespace ergometer::analysis
