#include "analysis/operations/operation_graph.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <span>

#include "analysis/operations/operation_waits.h"
#include "base/parallel.h"

namespace ergometer::analysis {
namespace {

using run::Operation;
using run::OperationRole;
using run::OperationTimeline;

/// Starts this close are one moment: what clocks brought together are apart in a file.
constexpr double kOneMoment = 5;  // us

bool is_send(OperationRole role) {
  return role == OperationRole::kForwardSend || role == OperationRole::kBackwardSend;
}
bool is_forward_transfer(OperationRole role) {
  return role == OperationRole::kForwardSend || role == OperationRole::kForwardReceive;
}

/// Who starts together: equal keys.
struct MeetingKey {
  int32_t kind = 0, stage = -1, replica = -1, lane = -1, chunk = -1, turn = 0;
  auto operator<=>(const MeetingKey&) const = default;
};

struct MeetingSide {
  MeetingKey key;
  uint32_t local = 0;
  bool sends = false;
};

/// A step on its way to a graph.
class StepCompiler {
 public:
  explicit StepCompiler(const StepOperations& step)
      : step_(step), waits_(waits_within_ranks(step)) {}
  StepGraph compile();

 private:
  const Operation& at(uint32_t number) const { return step_.at(number); }

  void meet();
  void meet_link(std::span<MeetingSide> link);
  void meet_collectives(std::span<MeetingSide> meetings);
  MeetingKey key_of(uint32_t local) const;
  void own_durations();
  struct Followers {
    std::vector<uint32_t> begin;   ///< by group, into `groups`; ended by their number
    std::vector<uint32_t> groups;  ///< that wait for it
  };
  Followers followers() const;
  std::vector<uint32_t> groups_by_start() const;
  std::vector<uint32_t> group_order() const;
  std::vector<uint32_t> place(StepGraph& graph) const;
  void list_waits(const std::vector<uint32_t>& position, StepGraph& graph) const;

  const StepOperations& step_;
  std::vector<OperationWait> waits_;
  std::vector<MeetingSide> meetings_;
  std::vector<uint32_t> group_of_;
  std::vector<StepNumbers> groups_;
  std::vector<double> own_;
};

/// Without its turn. A transfer's key is its direction and the stage that sends.
MeetingKey StepCompiler::key_of(uint32_t local) const {
  const Operation& o = at(local);
  const auto stages = static_cast<int32_t>(step_.groups().stages);
  const OperationRole what = step_.role(local);
  const int32_t ahead = (o.stage + 1) % stages, behind = (o.stage + stages - 1) % stages;
  switch (what) {
    case OperationRole::kForwardSend:
    case OperationRole::kBackwardSend:
      return {is_forward_transfer(what) ? -1 : -2, o.stage, o.replica, o.lane, -1, 0};
    case OperationRole::kForwardReceive: return {-1, behind, o.replica, o.lane, -1, 0};
    case OperationRole::kBackwardReceive: return {-2, ahead, o.replica, o.lane, -1, 0};
    case OperationRole::kReplicaCollective: return {o.kind, o.stage, -1, o.lane, o.chunk, 0};
    case OperationRole::kLaneCollective: return {o.kind, o.stage, o.replica, -1, o.chunk, 0};
    case OperationRole::kStageCollective: return {o.kind, -1, o.replica, o.lane, o.chunk, 0};
    case OperationRole::kWorldCollective: return {o.kind, -1, -1, -1, o.chunk, 0};
    default: return {};
  }
}

/// The n-th send meets the n-th receive; where there are not as many, those of one number.
void StepCompiler::meet_link(std::span<MeetingSide> link) {
  const auto sends = std::ranges::count_if(link, [](auto& m) { return m.sends; });
  const bool by_turn = 2 * sends == std::ssize(link);
  int32_t turn[2] = {0, 0};
  for (MeetingSide& meeting : link) {
    const int32_t number = at(meeting.local).sequence;
    meeting.key.turn = by_turn || number < 0 ? turn[meeting.sends ? 1 : 0]++ : number;
  }
}

/// The n-th of a rank meets the n-th of the others.
void StepCompiler::meet_collectives(std::span<MeetingSide> meetings) {
  const auto rank_of = [&](const MeetingSide& m) {
    const Operation& o = at(m.local);
    return std::tuple(o.stage, o.replica, o.lane);
  };
  int32_t turn = 0;
  for (size_t i = 0; i < meetings.size(); ++i) {
    turn = i > 0 && rank_of(meetings[i]) == rank_of(meetings[i - 1]) ? turn + 1 : 0;
    meetings[i].key.turn = turn;
  }
}

void StepCompiler::meet() {
  for (uint32_t local = 0; local < step_.size(); ++local)
    if (is_transfer(step_.role(local)))
      meetings_.push_back({key_of(local), local, is_send(step_.role(local))});
  const auto by_key = [](const MeetingSide& a, const MeetingSide& b) { return a.key < b.key; };
  std::ranges::stable_sort(meetings_, by_key);
  for (size_t begin = 0, end = 0; begin < meetings_.size(); begin = end) {
    for (end = begin; end < meetings_.size() && meetings_[end].key == meetings_[begin].key;) ++end;
    const auto meetings = std::span(meetings_).subspan(begin, end - begin);
    meetings.front().key.kind < 0 ? meet_link(meetings) : meet_collectives(meetings);
  }
  std::ranges::stable_sort(meetings_, by_key);
  group_of_.assign(step_.size(), UINT32_MAX);
  for (size_t i = 0; i < meetings_.size(); ++i) {
    if (i == 0 || meetings_[i].key != meetings_[i - 1].key) groups_.emplace_back();
    groups_.back().push_back(meetings_[i].local);
    group_of_[meetings_[i].local] = static_cast<uint32_t>(groups_.size() - 1);
  }
  for (uint32_t local = 0; local < step_.size(); ++local) {
    if (group_of_[local] != UINT32_MAX) continue;
    group_of_[local] = static_cast<uint32_t>(groups_.size());
    groups_.push_back({local});
  }
}

void StepCompiler::own_durations() {
  own_.resize(step_.size());
  for (const StepNumbers& group : groups_) {
    double last_us = at(group.front()).start_us;
    for (const uint32_t local : group) last_us = std::max(last_us, at(local).start_us);
    for (const uint32_t local : group) {
      const double late_us = last_us - at(local).start_us;
      own_[local] = std::max(at(local).duration_us - (late_us > kOneMoment ? late_us : 0), 0.0);
    }
  }
}

StepCompiler::Followers StepCompiler::followers() const {
  Followers found{.begin = std::vector<uint32_t>(groups_.size() + 1, 0),
                  .groups = StepNumbers(waits_.size())};
  for (const auto& [who, whom] : waits_) ++found.begin[group_of_[whom] + 1];
  std::partial_sum(found.begin.begin(), found.begin.end(), found.begin.begin());
  std::vector<uint32_t> fill(found.begin.begin(), found.begin.end() - 1);
  for (const auto& [who, whom] : waits_) found.groups[fill[group_of_[whom]]++] = group_of_[who];
  return found;
}

std::vector<uint32_t> StepCompiler::groups_by_start() const {
  std::vector<uint32_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    return at(groups_[a].front()).start_us < at(groups_[b].front()).start_us;
  });
  return order;
}

/// Groups behind all that they wait for; where some wait for each other in a circle, the one that
/// started first does not wait.
std::vector<uint32_t> StepCompiler::group_order() const {
  const Followers behind = followers();
  std::vector<uint32_t> missing(groups_.size(), 0);
  for (const auto& [who, whom] : waits_) ++missing[group_of_[who]];
  std::vector<uint32_t> order, by_start;
  std::vector<bool> taken(groups_.size(), false);
  const auto take = [&](uint32_t group) {
    if (taken[group]) return;
    taken[group] = true;
    order.push_back(group);
  };
  for (uint32_t group = 0; group < groups_.size(); ++group)
    if (missing[group] == 0) take(group);
  for (size_t done = 0, first = 0; done < groups_.size(); ++done) {
    if (done == order.size()) {
      if (by_start.empty()) by_start = groups_by_start();
      while (taken[by_start[first]]) ++first;
      take(by_start[first]);
    }
    for (uint32_t i = behind.begin[order[done]]; i < behind.begin[order[done] + 1]; ++i)
      if (--missing[behind.groups[i]] == 0) take(behind.groups[i]);
  }
  return order;
}

/// The position of every operation.
std::vector<uint32_t> StepCompiler::place(StepGraph& graph) const {
  std::vector<uint32_t> position(step_.size());
  for (const uint32_t group : group_order()) {
    graph.group_begin.push_back(static_cast<uint32_t>(graph.operations.size()));
    for (const uint32_t local : groups_[group]) {
      position[local] = static_cast<uint32_t>(graph.operations.size());
      graph.operations.push_back(step_.in_timeline(local));
      graph.own_us.push_back(own_[local]);
    }
  }
  graph.group_begin.push_back(static_cast<uint32_t>(graph.operations.size()));
  return position;
}

void StepCompiler::list_waits(const std::vector<uint32_t>& position, StepGraph& graph) const {
  const auto is_kept = [&](const OperationWait& it) {
    return position[it.second] < position[it.first] && group_of_[it.first] != group_of_[it.second];
  };
  graph.wait_begin.assign(step_.size() + 1, 0);
  for (const OperationWait& it : waits_)
    if (is_kept(it)) ++graph.wait_begin[position[it.first] + 1];
  std::partial_sum(graph.wait_begin.begin(), graph.wait_begin.end(), graph.wait_begin.begin());
  graph.waits.resize(graph.wait_begin.back());
  graph.left_out = waits_.size() - graph.waits.size();
  std::vector<uint32_t> fill(graph.wait_begin.begin(), graph.wait_begin.end() - 1);
  for (const OperationWait& it : waits_)
    if (is_kept(it)) graph.waits[fill[position[it.first]]++] = position[it.second];
}

StepGraph StepCompiler::compile() {
  StepGraph graph;
  meet();
  own_durations();
  list_waits(place(graph), graph);
  double first = at(0).start_us, last = first;
  for (uint32_t local = 0; local < step_.size(); ++local) {
    first = std::min(first, at(local).start_us);
    last = std::max(last, at(local).start_us + at(local).duration_us);
  }
  graph.recorded_us = last - first;
  return graph;
}

}  // namespace

bool is_transfer(OperationRole role) {
  return is_point_to_point(role) || role == OperationRole::kReplicaCollective ||
         role == OperationRole::kLaneCollective || role == OperationRole::kStageCollective ||
         role == OperationRole::kWorldCollective;
}

std::vector<StepGraph> operation_graphs(const OperationTimeline& timeline, size_t threads) {
  std::vector<std::vector<uint32_t>> steps(timeline.steps.size());
  for (uint32_t i = 0; i < timeline.operations.size(); ++i)
    steps[timeline.operations[i].step].push_back(i);
  std::vector<StepGraph> graphs(steps.size());
  base::parallel_for(steps.size(), threads, [&](size_t step) {
    const auto key = [&](uint32_t i) {
      const Operation& o = timeline.operations[i];
      return std::tie(o.stage, o.replica, o.lane, o.start_us);
    };
    std::ranges::stable_sort(steps[step], [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    graphs[step] = StepCompiler(StepOperations(timeline, steps[step])).compile();
  });
  return graphs;
}

std::array<double, kReplayLanes> replay(const StepGraph& graph,
                                        const std::vector<double>& duration_us,
                                        std::vector<double>& end_us) {
  constexpr size_t kLanes = kReplayLanes;
  std::array<double, kLanes> longest{};
  for (size_t group = 0; group + 1 < graph.group_begin.size(); ++group) {
    const size_t begin = graph.group_begin[group], end = graph.group_begin[group + 1];
    std::array<double, kLanes> start{};
    for (uint32_t i = graph.wait_begin[begin]; i < graph.wait_begin[end]; ++i) {
      const double* const ended = &end_us[graph.waits[i] * kLanes];
      for (size_t lane = 0; lane < kLanes; ++lane) start[lane] = std::max(start[lane], ended[lane]);
    }
    for (size_t at = begin; at < end; ++at)
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const double ends = start[lane] + duration_us[at * kLanes + lane];
        end_us[at * kLanes + lane] = ends;
        longest[lane] = std::max(longest[lane], ends);
      }
  }
  return longest;
}

}  // namespace ergometer::analysis
