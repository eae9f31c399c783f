#include "analysis/ranks/event_graph.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/ranks/arrivals.h"
#include "analysis/ranks/collectives.h"
#include "analysis/trace/idle.h"
#include "analysis/work/kernel_class.h"

namespace ergometer::analysis {
namespace {

/// A point at which a CPU had waited for an event.
struct Synchronization {
  int64_t cpu_ns = 0;
  size_t node = 0;
  int64_t waited_ns = 0;  ///< of the CPU's time, behind all waits before it
};

class GraphBuilder {
 public:
  GraphBuilder(const std::vector<run::RankTrace>& ranks, const ClockTable& clocks,
               const GroupLabels& labels)
      : ranks_(ranks), clocks_(clocks), labels_(labels) {}
  EventGraph build(const MatchedCollectives& collectives,
                   const std::vector<std::vector<int64_t>>& handed_over_ns);

 private:
  void add_nodes();
  void add_kinds(size_t rank);
  void add_streams();
  std::vector<size_t> by_end(size_t rank) const;
  std::vector<Synchronization> add_launches(size_t rank);
  void add_cpu_waits(size_t rank, const std::vector<size_t>& by_end,
                     std::vector<Synchronization>& all) const;
  void add_synchronizations(size_t rank, std::vector<Synchronization> all);
  void add_waits(size_t rank, const std::vector<size_t>& by_end);
  void add_meeting(const CollectiveInstance& one);
  uint32_t kind(const std::string& name);
  size_t inferred_wait(size_t node, const std::vector<size_t>& by_end) const;
  void add_over_at_launch(const std::vector<size_t>& by_end);
  const run::GpuEvent& event(size_t node) const {
    return ranks_[graph_.nodes[node].rank].events[event_of_[node]];
  }

  const std::vector<run::RankTrace>& ranks_;
  const ClockTable& clocks_;
  const GroupLabels& labels_;
  EventGraph graph_;
  std::vector<size_t> event_of_;              ///< by node
  std::vector<std::vector<size_t>> node_of_;  ///< by rank and event
  std::map<std::string, uint32_t> kinds_;
};

uint32_t GraphBuilder::kind(const std::string& name) {
  const auto [at, is_new] = kinds_.emplace(name, static_cast<uint32_t>(graph_.kinds.size()));
  if (is_new) graph_.kinds.push_back(name);
  return at->second;
}

void GraphBuilder::add_nodes() {
  std::vector<std::tuple<int64_t, size_t, size_t>> order;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    node_of_.emplace_back(ranks_[rank].events.size());
    for (size_t i = 0; i < ranks_[rank].events.size(); ++i)
      order.emplace_back(clocks_.common_ns(rank, ranks_[rank].events[i].start_ns), rank, i);
  }
  std::ranges::sort(order);
  for (const auto& [start, rank, i] : order) {
    node_of_[rank][i] = graph_.nodes.size();
    event_of_.push_back(i);
    EventNode node;
    node.start_ns = start;
    node.end_ns = std::max(start, clocks_.common_ns(rank, ranks_[rank].events[i].end_ns()));
    node.rank = rank;
    graph_.nodes.push_back(node);
  }
}

void GraphBuilder::add_kinds(size_t rank) {
  const run::RankTrace& trace = ranks_[rank];
  // Names are asked once: there are many events of few names.
  std::map<std::tuple<uint32_t, run::GpuClass, uint32_t>, uint32_t> known;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const run::GpuEvent& event = trace.events[i];
    const auto [at, is_new] =
        known.emplace(std::make_tuple(event.name, event.kind, event.collective), 0);
    if (is_new) {
      std::string name(kernel_class(trace.names[event.name], event.kind));
      const std::string label = label_of(labels_, collective_of(trace, event));
      if (event.kind == run::GpuClass::kCommunication && label != "?") name += " " + label;
      at->second = kind(name);
    }
    graph_.nodes[node_of_[rank][i]].kind = at->second;
  }
}

void GraphBuilder::add_streams() {
  std::map<std::tuple<size_t, int32_t, int32_t>, size_t> last;
  for (size_t node = 0; node < graph_.nodes.size(); ++node) {
    const auto [at, is_first] = last.emplace(
        std::make_tuple(graph_.nodes[node].rank, event(node).device, event(node).stream), node);
    if (!is_first) graph_.nodes[node].before = at->second;
    at->second = node;
  }
}

/// Whether a copy brings something to the CPU, which may wait for it.
bool is_copy_to_host(const run::RankTrace& trace, const run::GpuEvent& event) {
  return event.kind == run::GpuClass::kMemory &&
         (trace.names[event.name].find("DtoH") != std::string::npos ||
          trace.names[event.name].find("DeviceToHost") != std::string::npos);
}

/// When operators were over, by the external id of what they launched; the outermost counts.
std::map<int64_t, int64_t> operator_ends(const run::RankTrace& trace) {
  std::map<int64_t, int64_t> ends;
  for (const run::Operator& op : trace.operators) {
    if (op.external_id < 0) continue;
    int64_t& end = ends[op.external_id];
    end = std::max(end, op.start_ns + op.duration_ns);
  }
  return ends;
}

/// Sets the launches of a rank's events; returns where its CPU waited for one.
std::vector<Synchronization> GraphBuilder::add_launches(size_t rank) {
  const run::RankTrace& trace = ranks_[rank];
  const std::map<int64_t, int64_t> operators = operator_ends(trace);
  std::vector<Synchronization> synchronizations;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const run::GpuEvent& event = trace.events[i];
    const run::Launch* launch = run::launch_of(trace, event);
    // A launch behind its event is no launch: correlations may repeat in damaged files.
    if (launch == nullptr || launch->start_ns > event.start_ns) continue;
    EventNode& node = graph_.nodes[node_of_[rank][i]];
    node.launched = true;
    node.launch_ns = std::min(node.start_ns, clocks_.common_ns(rank, launch->start_ns));
    if (!is_copy_to_host(trace, event)) continue;
    int64_t end = launch->start_ns + launch->duration_ns;
    if (const auto around = operators.find(launch->external_id); around != operators.end())
      end = std::max(end, around->second);
    if (end >= event.end_ns())
      synchronizations.push_back(
          {clocks_.common_ns(rank, end), node_of_[rank][i], event.end_ns() - launch->start_ns});
  }
  return synchronizations;
}

/// The rank's nodes in order of their ends.
std::vector<size_t> GraphBuilder::by_end(size_t rank) const {
  std::vector<size_t> nodes = node_of_[rank];
  std::ranges::sort(nodes, [&](size_t a, size_t b) {
    return std::tie(graph_.nodes[a].end_ns, a) < std::tie(graph_.nodes[b].end_ns, b);
  });
  return nodes;
}

/// Calls that wait for a stream, an event or the device: what was launched before and ended last
/// during the call is what it waited for.
void GraphBuilder::add_cpu_waits(size_t rank, const std::vector<size_t>& by_end,
                                 std::vector<Synchronization>& all) const {
  for (const run::Launch& wait : ranks_[rank].waits) {
    if (!waits_for_gpu(ranks_[rank], wait)) continue;
    const int64_t from = clocks_.common_ns(rank, wait.start_ns),
                  to = clocks_.common_ns(rank, wait.start_ns + wait.duration_ns);
    auto at = std::upper_bound(by_end.begin(), by_end.end(), to,
                               [&](int64_t t, size_t n) { return t < graph_.nodes[n].end_ns; });
    while (at != by_end.begin()) {
      const EventNode& node = graph_.nodes[*--at];
      if (node.end_ns <= from) break;
      if (!node.launched || node.launch_ns > from) continue;
      all.push_back({to, *at, node.end_ns - from});
      break;
    }
  }
}

void GraphBuilder::add_synchronizations(size_t rank, std::vector<Synchronization> sorted) {
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return std::tie(a.cpu_ns, a.node) < std::tie(b.cpu_ns, b.node);
  });
  int64_t begin = INT64_MIN, waited = 0;  // waits of several threads may overlap
  for (Synchronization& one : sorted) {
    waited += one.cpu_ns - std::max(begin, one.cpu_ns - one.waited_ns);
    begin = one.cpu_ns;
    one.waited_ns = waited;
  }
  for (const size_t node : node_of_[rank]) {
    EventNode& of = graph_.nodes[node];
    auto after = std::upper_bound(sorted.begin(), sorted.end(), of.launch_ns,
                                  [](int64_t t, const auto& s) { return t < s.cpu_ns; });
    if (!of.launched || after == sorted.begin()) continue;
    of.cpu_waited_ns = (--after)->waited_ns;
    if (after->node < node) of.cpu_after = after->node;
  }
}

/// What ended last on another stream while this one was free and the launch done.
size_t GraphBuilder::inferred_wait(size_t node, const std::vector<size_t>& by_end) const {
  constexpr int64_t kLongestReaction = 50'000;  // ns, assumed: a stream wait resolves in 1 to 10 us
  constexpr int64_t kRounded = 1'000;           // ns: some profilers round times to microseconds
  const EventNode& of = graph_.nodes[node];
  int64_t free_since = of.start_ns - kLongestReaction;
  if (of.launched) free_since = std::max(free_since, of.launch_ns);
  if (of.before != EventNode::kNone)
    free_since = std::max(free_since, graph_.nodes[of.before].end_ns);
  auto at = std::upper_bound(by_end.begin(), by_end.end(), of.start_ns + kRounded,
                             [&](int64_t t, size_t n) { return t < graph_.nodes[n].end_ns; });
  while (at != by_end.begin()) {
    const size_t other = *--at;
    if (graph_.nodes[other].end_ns <= free_since) break;
    if (other < node && event(other).stream != event(node).stream) return other;
  }
  return EventNode::kNone;
}

void GraphBuilder::add_waits(size_t rank, const std::vector<size_t>& by_end) {
  for (const size_t node : node_of_[rank])
    graph_.nodes[node].waits_for = inferred_wait(node, by_end);
}

/// Of every launched event what had ended last on another stream than its own.
void GraphBuilder::add_over_at_launch(const std::vector<size_t>& by_end) {
  const auto stream = [&](size_t node) { return event(node).stream; };
  // Of every position the last one before it that ended on another stream.
  std::vector<size_t> other(by_end.size(), EventNode::kNone);
  for (size_t i = 1; i < by_end.size(); ++i)
    other[i] = stream(by_end[i]) == stream(by_end[i - 1]) ? other[i - 1] : i - 1;
  for (const size_t node : by_end) {
    EventNode& of = graph_.nodes[node];
    if (!of.launched) continue;
    const auto after =
        std::upper_bound(by_end.begin(), by_end.end(), of.launch_ns,
                         [&](int64_t t, size_t n) { return t < graph_.nodes[n].end_ns; });
    if (after == by_end.begin()) continue;
    auto at = static_cast<size_t>(after - by_end.begin()) - 1;
    if (stream(by_end[at]) == stream(node)) at = other[at];
    if (at != EventNode::kNone && by_end[at] < node) of.over_at_launch = by_end[at];
  }
}

void GraphBuilder::add_meeting(const CollectiveInstance& one) {
  const Meeting met = meeting_of(ranks_, one, clocks_);
  // Clocks that are too far apart, or a wrong match: no rank can end before all have joined.
  if (met.end_ns <= met.last_ns) return;
  EventMeeting meeting;
  for (const CollectiveCall& call : one.calls) {
    const size_t node = node_of_[call.trace][call.event];
    graph_.nodes[node].meeting = graph_.meetings.size();
    meeting.members.push_back(node);
  }
  meeting.latest = meeting.members[met.latest];
  meeting.last_ns = met.last_ns;
  meeting.message = one.message;
  graph_.meetings.push_back(std::move(meeting));
}

EventGraph GraphBuilder::build(const MatchedCollectives& collectives,
                               const std::vector<std::vector<int64_t>>& handed_over_ns) {
  add_nodes();
  add_streams();
  for (size_t rank = 0; rank < handed_over_ns.size(); ++rank)
    for (size_t i = 0; i < handed_over_ns[rank].size(); ++i)
      graph_.nodes[node_of_[rank][i]].handed_over_ns = handed_over_ns[rank][i];
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::vector<size_t> ends = by_end(rank);
    add_kinds(rank);
    std::vector<Synchronization> synchronizations = add_launches(rank);
    add_cpu_waits(rank, ends, synchronizations);
    add_synchronizations(rank, std::move(synchronizations));
    add_waits(rank, ends);
    add_over_at_launch(ends);
  }
  for (const CollectiveInstance& one : collectives.instances) add_meeting(one);
  return std::move(graph_);
}

class Player {
 public:
  Player(const EventGraph& graph, const Replay& replay) : graph_(graph), replay_(replay) {}
  void play();
  /// Of every rank that has events its last end, from the first start of all.
  std::vector<int64_t> ends() const;

 private:
  double share(const EventNode& node) const;
  int64_t sooner(size_t rank, int64_t time_ns) const;
  int64_t duration(const EventNode& node) const;
  int64_t end(size_t node) const;
  int64_t beside(size_t before, int64_t start_ns) const;
  int64_t start(const EventNode& node) const;
  int64_t launch(const EventNode& node) const;
  bool waits_for_others(const EventNode& node) const {
    return node.meeting != EventNode::kNone &&
           (!replay_.ranks_free || node.kind == replay_.waits_at ||
            graph_.meetings[node.meeting].message);
  }

  const EventGraph& graph_;
  const Replay& replay_;
  std::vector<int64_t> start_;       ///< by node
  std::vector<int64_t> last_start_;  ///< by meeting
};

/// What of its time a rank's own work takes: where the pace changes meanwhile, the mean.
double Player::share(const EventNode& node) const {
  if (node.end_ns <= node.start_ns || graph_.kinds[node.kind].starts_with("collective")) return 1;
  if (!replay_.shares.empty()) return replay_.shares[node.rank];
  if (node.rank != replay_.faster_rank) return 1;
  auto after = std::ranges::upper_bound(replay_.paces, node.start_ns, {}, &Pace::from_ns);
  double share = after == replay_.paces.begin() ? 1 : (after - 1)->share, taken_ns = 0;
  int64_t from_ns = node.start_ns;
  for (; after != replay_.paces.end() && after->from_ns < node.end_ns; ++after) {
    taken_ns += share * static_cast<double>(after->from_ns - from_ns);
    from_ns = after->from_ns;
    share = after->share;
  }
  taken_ns += share * static_cast<double>(node.end_ns - from_ns);
  return taken_ns / static_cast<double>(node.end_ns - node.start_ns);
}

/// By how much a rank's CPU is earlier; a lead from this very time on does not count: it begins
/// where an event ends, for which the CPU had waited.
int64_t Player::sooner(size_t rank, int64_t time_ns) const {
  if (rank != replay_.faster_rank) return 0;
  const auto after = std::ranges::lower_bound(replay_.leads, time_ns, {}, &Lead::from_ns);
  return after == replay_.leads.begin() ? 0 : (after - 1)->sooner_ns;
}

/// Of a collective, from the last rank's arrival on.
int64_t Player::duration(const EventNode& node) const {
  if (node.kind == replay_.free_kind) return 0;
  if (node.meeting != EventNode::kNone) return node.end_ns - graph_.meetings[node.meeting].last_ns;
  const int64_t kept = replay_.on_chip ? node.handed_over_ns : 0;
  const int64_t was = std::max<int64_t>(0, node.end_ns - node.start_ns - kept);
  return static_cast<int64_t>(share(node) * static_cast<double>(was));
}

int64_t Player::end(size_t index) const {
  const EventNode& node = graph_.nodes[index];
  return (waits_for_others(node) ? last_start_[node.meeting] : start_[index]) + duration(node);
}

int64_t Player::launch(const EventNode& node) const {
  const int64_t begin = graph_.nodes.front().start_ns;
  const int64_t called_ns = node.launch_ns - sooner(node.rank, node.launch_ns);
  const int64_t earliest = replay_.launches_free ? begin
                           : replay_.cpu_free    ? std::min(begin, node.launch_ns)
                                                 : called_ns;
  if (replay_.cpu_unblocked)
    return replay_.launches_free ? earliest : node.launch_ns - node.cpu_waited_ns;
  if (node.cpu_after == EventNode::kNone) return earliest;
  const int64_t was_ns = graph_.nodes[node.cpu_after].end_ns, synchronized = end(node.cpu_after);
  if (replay_.launches_free || replay_.cpu_free) return synchronized;
  // The CPU waits no longer where the event ends sooner, but does not call before it came to wait.
  return std::max(called_ns - node.cpu_waited_ns,
                  called_ns - was_ns + sooner(node.rank, was_ns) + synchronized);
}

/// When something begins that began while the event before it on its stream ran: at the same part
/// of that event, however long it takes; of a collective that not all had joined, as long behind
/// its start.
int64_t Player::beside(size_t before, int64_t start_ns) const {
  const EventNode& node = graph_.nodes[before];
  const int64_t behind = start_ns - node.start_ns;
  if (node.meeting != EventNode::kNone && start_ns < graph_.meetings[node.meeting].last_ns)
    return start_[before] + behind;
  const double stretch = static_cast<double>(end(before) - start_[before]) /
                         static_cast<double>(node.end_ns - node.start_ns);
  return start_[before] + static_cast<int64_t>(stretch * static_cast<double>(behind));
}

/// As long after the last of what it waits for as it was.
int64_t Player::start(const EventNode& node) const {
  int64_t was = INT64_MIN, now = INT64_MIN;
  const auto after = [&](int64_t then, int64_t when) {
    was = std::max(was, then);
    now = std::max(now, when);
  };
  if (node.before != EventNode::kNone) {
    const EventNode& before = graph_.nodes[node.before];
    // Kernels of one stream may overlap: programmatic dependent launch, times that are rounded.
    if (before.end_ns <= node.start_ns) {
      after(before.end_ns, end(node.before));
    } else {
      after(node.start_ns, beside(node.before, node.start_ns));
    }
  }
  if (node.waits_for != EventNode::kNone)
    after(graph_.nodes[node.waits_for].end_ns, end(node.waits_for));
  if (node.launched) after(node.launch_ns, launch(node));
  if (was == INT64_MIN) return node.start_ns;
  if (node.over_at_launch != EventNode::kNone) now = std::max(now, end(node.over_at_launch));
  // What lay between call and event, where nothing else was waited for, is the launch's.
  const bool by_launch = node.launched && was == node.launch_ns;
  return now + (replay_.launches_free && by_launch ? 0 : node.start_ns - was);
}

void Player::play() {
  start_.resize(graph_.nodes.size());
  last_start_.assign(graph_.meetings.size(), INT64_MIN);
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const EventNode& node = graph_.nodes[i];
    start_[i] = start(node);
    if (node.meeting != EventNode::kNone)
      last_start_[node.meeting] = std::max(last_start_[node.meeting], start_[i]);
  }
}

std::vector<int64_t> Player::ends() const {
  constexpr int64_t kNone = -1;
  std::vector<int64_t> ends;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const size_t rank = graph_.nodes[i].rank;
    if (ends.size() <= rank) ends.resize(rank + 1, kNone);
    ends[rank] = std::max(ends[rank], end(i) - graph_.nodes.front().start_ns);
  }
  std::erase(ends, kNone);
  return ends;
}

}  // namespace

EventGraph event_graph(const std::vector<run::RankTrace>& ranks,
                       const MatchedCollectives& collectives, const ClockTable& clocks,
                       const GroupLabels& labels,
                       const std::vector<std::vector<int64_t>>& handed_over_ns) {
  return GraphBuilder(ranks, clocks, labels).build(collectives, handed_over_ns);
}

std::vector<int64_t> replayed_ends(const EventGraph& graph, const Replay& replay) {
  Player player(graph, replay);
  player.play();
  return player.ends();
}

int64_t replayed_span(const EventGraph& graph, const Replay& replay) {
  const std::vector<int64_t> ends = replayed_ends(graph, replay);
  return ends.empty() ? 0 : *std::ranges::max_element(ends);
}

}  // namespace ergometer::analysis
