#include "analysis/operation_graph.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <span>
#include <string_view>

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
bool is_point_to_point(OperationRole role) {
  return is_send(role) || role == OperationRole::kForwardReceive ||
         role == OperationRole::kBackwardReceive;
}
bool is_forward_transfer(OperationRole role) {
  return role == OperationRole::kForwardSend || role == OperationRole::kForwardReceive;
}

/// Who starts together: equal keys.
struct MeetingKey {
  int32_t kind = 0, stage = -1, replica = -1, lane = -1, chunk = -1, turn = 0;
  auto operator<=>(const MeetingKey&) const = default;
};

struct Meeting {
  MeetingKey key;
  uint32_t local = 0;
  bool sends = false;
};

using Locals = std::vector<uint32_t>;  ///< numbers of operations within the step

/// A step on its way to a graph.
class StepCompiler {
 public:
  /// `order`: its operations, rank by rank, in order of time.
  StepCompiler(const OperationTimeline& timeline, std::span<const uint32_t> order)
      : timeline_(timeline), order_(order) {}
  StepGraph compile();

 private:
  const Operation& at(uint32_t local) const { return timeline_.operations[order_[local]]; }
  OperationRole role(uint32_t local) const { return timeline_.kinds[at(local).kind].role; }
  bool is_first_virtual(uint32_t local) const { return at(local).stage == 0 && chunk(local) == 0; }
  bool is_last_virtual(uint32_t local) const {
    return at(local).stage + 1 == timeline_.groups.stages &&
           chunk(local) + 1 == timeline_.groups.chunks;
  }
  int32_t chunk(uint32_t local) const { return std::max(at(local).chunk, 0); }
  void wait(uint32_t who, uint32_t whom) { edges_.emplace_back(who, whom); }
  void follow(const Locals& stream);

  void compile_rank(uint32_t begin, uint32_t end);
  Locals of_role(uint32_t begin, uint32_t end, OperationRole role) const;
  std::vector<std::pair<uint32_t, uint32_t>> pair_up(const Locals& work,
                                                     const Locals& transfers) const;
  void link_receives(const Locals& work, const Locals& receives);
  void link_sends(const Locals& work, const Locals& sends);
  void link_collectives(const Locals& compute, const Locals& collectives);
  void link_parameters(const Locals& compute, uint32_t collective);
  void link_gradients(const Locals& compute, uint32_t collective);
  void link_last_work(const Locals& compute, const Locals& collectives);

  void meet();
  void meet_link(std::span<Meeting> link);
  MeetingKey key_of(uint32_t local) const;
  void own_durations();
  void put_in_order(StepGraph& graph);

  const OperationTimeline& timeline_;
  std::span<const uint32_t> order_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;  ///< who waits, for whom
  std::vector<Meeting> meetings_;
  std::vector<uint32_t> group_of_;
  std::vector<Locals> groups_;
  std::vector<double> own_;
};

void StepCompiler::follow(const Locals& stream) {
  for (size_t i = 1; i < stream.size(); ++i) wait(stream[i], stream[i - 1]);
}

Locals StepCompiler::of_role(uint32_t begin, uint32_t end, OperationRole wanted) const {
  Locals found;
  for (uint32_t local = begin; local < end; ++local)
    if (role(local) == wanted) found.push_back(local);
  return found;
}

/// Work and what it moves: in their order where there are as many of both, else by number.
std::vector<std::pair<uint32_t, uint32_t>> StepCompiler::pair_up(const Locals& work,
                                                                 const Locals& transfers) const {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  if (work.size() == transfers.size()) {
    for (size_t i = 0; i < work.size(); ++i) pairs.emplace_back(work[i], transfers[i]);
    return pairs;
  }
  const auto number = [&](uint32_t local) {
    const Operation& o = at(local);
    return o.sequence >= 0 ? o.sequence : o.micro_batch;
  };
  std::vector<std::pair<int32_t, uint32_t>> by_number;
  for (const uint32_t local : work) by_number.emplace_back(number(local), local);
  std::sort(by_number.begin(), by_number.end());
  for (const uint32_t transfer : transfers) {
    const auto found = std::lower_bound(by_number.begin(), by_number.end(),
                                        std::pair(number(transfer), uint32_t{0}));
    if (found != by_number.end() && found->first == number(transfer))
      pairs.emplace_back(found->second, transfer);
  }
  return pairs;
}

void StepCompiler::link_receives(const Locals& work, const Locals& receives) {
  const auto pairs = pair_up(work, receives);
  for (size_t i = 0; i < pairs.size(); ++i) {
    wait(pairs[i].first, pairs[i].second);
    if (i > 0) wait(pairs[i].second, pairs[i - 1].first);
  }
}

void StepCompiler::link_sends(const Locals& work, const Locals& sends) {
  for (const auto& [computed, send] : pair_up(work, sends)) wait(send, computed);
}

/// The first forward behind a collective that brings its chunk's parameters.
void StepCompiler::link_parameters(const Locals& compute, uint32_t collective) {
  std::vector<bool> linked(static_cast<size_t>(timeline_.groups.chunks), false);
  for (const uint32_t local : compute) {
    if (role(local) != OperationRole::kForward || at(local).start_us < at(collective).start_us ||
        (at(collective).chunk >= 0 && chunk(local) != at(collective).chunk))
      continue;
    const auto number = static_cast<size_t>(chunk(local));
    if (!linked[number]) wait(local, collective);
    linked[number] = true;
  }
}

void StepCompiler::link_gradients(const Locals& compute, uint32_t collective) {
  const double start_us = at(collective).start_us;
  size_t last = compute.size();
  for (size_t i = 0; i < compute.size() && at(compute[i]).start_us <= start_us; ++i)
    if (role(compute[i]) == OperationRole::kBackward &&
        (at(collective).chunk < 0 || chunk(compute[i]) == at(collective).chunk))
      last = i;
  if (last == compute.size()) return link_parameters(compute, collective);
  wait(collective, compute[last]);
  for (++last; last < compute.size() && role(compute[last]) == OperationRole::kPause &&
               at(compute[last]).start_us <= start_us;
       ++last)
    wait(collective, compute[last]);
}

void StepCompiler::link_collectives(const Locals& compute, const Locals& collectives) {
  for (const uint32_t local : collectives) {
    const std::string_view name = timeline_.kinds[at(local).kind].name;
    if (name.starts_with("params"))
      link_parameters(compute, local);
    else
      link_gradients(compute, local);
  }
}

/// What is computed behind the last backward waits for the collective before it.
void StepCompiler::link_last_work(const Locals& compute, const Locals& collectives) {
  for (size_t i = compute.size(); i-- > 0 && role(compute[i]) != OperationRole::kBackward &&
                                  role(compute[i]) != OperationRole::kForward;) {
    if (role(compute[i]) != OperationRole::kOther) continue;
    const auto behind =
        std::upper_bound(collectives.begin(), collectives.end(), at(compute[i]).start_us,
                         [&](double start, uint32_t local) { return start < at(local).start_us; });
    if (behind != collectives.begin()) wait(compute[i], *std::prev(behind));
  }
}

void StepCompiler::compile_rank(uint32_t begin, uint32_t end) {
  Locals compute, collectives;
  for (uint32_t local = begin; local < end; ++local) {
    const OperationRole what = role(local);
    if (!is_transfer(what))
      compute.push_back(local);
    else if (!is_point_to_point(what))
      collectives.push_back(local);
  }
  follow(compute);
  follow(collectives);
  link_collectives(compute, collectives);
  link_last_work(compute, collectives);
  Locals fed_forward, fed_backward, sent_forward, sent_backward;
  for (const uint32_t local : compute) {
    const OperationRole what = role(local);
    if (what == OperationRole::kForward) {
      if (!is_first_virtual(local)) fed_forward.push_back(local);
      if (!is_last_virtual(local)) sent_forward.push_back(local);
    } else if (what == OperationRole::kBackward) {
      if (!is_last_virtual(local)) fed_backward.push_back(local);
      if (!is_first_virtual(local)) sent_backward.push_back(local);
    }
  }
  const auto transfers = [&](OperationRole wanted) {
    Locals found = of_role(begin, end, wanted);
    follow(found);
    return found;
  };
  link_receives(fed_forward, transfers(OperationRole::kForwardReceive));
  link_receives(fed_backward, transfers(OperationRole::kBackwardReceive));
  link_sends(sent_forward, transfers(OperationRole::kForwardSend));
  link_sends(sent_backward, transfers(OperationRole::kBackwardSend));
}

/// Without its turn. A transfer's key is its direction and the stage that sends.
MeetingKey StepCompiler::key_of(uint32_t local) const {
  const Operation& o = at(local);
  const auto stages = static_cast<int32_t>(timeline_.groups.stages);
  const OperationRole what = role(local);
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
void StepCompiler::meet_link(std::span<Meeting> link) {
  const auto sends = std::count_if(link.begin(), link.end(), [](auto& m) { return m.sends; });
  const bool by_turn = 2 * sends == std::ssize(link);
  int32_t turn[2] = {0, 0};
  for (Meeting& meeting : link) {
    const int32_t number = at(meeting.local).sequence;
    meeting.key.turn = by_turn || number < 0 ? turn[meeting.sends ? 1 : 0]++ : number;
  }
}

void StepCompiler::meet() {
  for (uint32_t local = 0; local < order_.size(); ++local)
    if (is_transfer(role(local))) meetings_.push_back({key_of(local), local, is_send(role(local))});
  const auto rank_of = [&](const Meeting& m) {
    const Operation& o = at(m.local);
    return std::tuple(o.stage, o.replica, o.lane);
  };
  std::stable_sort(meetings_.begin(), meetings_.end(),
                   [](const Meeting& a, const Meeting& b) { return a.key < b.key; });
  for (size_t begin = 0, end = 0; begin < meetings_.size(); begin = end) {
    for (end = begin; end < meetings_.size() && meetings_[end].key == meetings_[begin].key;) ++end;
    if (meetings_[begin].key.kind < 0) {
      meet_link(std::span(meetings_).subspan(begin, end - begin));
      continue;
    }
    int32_t turn = 0;
    std::vector<int32_t> turns;
    for (size_t i = begin; i < end; ++i) {
      turn = i > begin && rank_of(meetings_[i]) == rank_of(meetings_[i - 1]) ? turn + 1 : 0;
      turns.push_back(turn);
    }
    for (size_t i = begin; i < end; ++i) meetings_[i].key.turn = turns[i - begin];
  }
  std::stable_sort(meetings_.begin(), meetings_.end(),
                   [](const Meeting& a, const Meeting& b) { return a.key < b.key; });
  group_of_.assign(order_.size(), UINT32_MAX);
  for (size_t i = 0; i < meetings_.size(); ++i) {
    if (i == 0 || meetings_[i].key != meetings_[i - 1].key) groups_.emplace_back();
    groups_.back().push_back(meetings_[i].local);
    group_of_[meetings_[i].local] = static_cast<uint32_t>(groups_.size() - 1);
  }
  for (uint32_t local = 0; local < order_.size(); ++local) {
    if (group_of_[local] != UINT32_MAX) continue;
    group_of_[local] = static_cast<uint32_t>(groups_.size());
    groups_.push_back({local});
  }
}

void StepCompiler::own_durations() {
  own_.resize(order_.size());
  for (const Locals& group : groups_) {
    double last_us = at(group.front()).start_us;
    for (const uint32_t local : group) last_us = std::max(last_us, at(local).start_us);
    for (const uint32_t local : group) {
      const double late_us = last_us - at(local).start_us;
      own_[local] = std::max(at(local).duration_us - (late_us > kOneMoment ? late_us : 0), 0.0);
    }
  }
}

/// Groups behind all that they wait for; where some wait for each other in a circle, the one that
/// started first does not wait.
void StepCompiler::put_in_order(StepGraph& graph) {
  std::vector<uint32_t> missing(groups_.size(), 0);
  std::vector<uint32_t> begin(groups_.size() + 1, 0), next(edges_.size());
  for (const auto& [who, whom] : edges_) {
    ++missing[group_of_[who]];
    ++begin[group_of_[whom] + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> fill(begin.begin(), begin.end() - 1);
  for (const auto& [who, whom] : edges_) next[fill[group_of_[whom]]++] = group_of_[who];

  std::vector<uint32_t> order;
  std::vector<bool> taken(groups_.size(), false);
  const auto take = [&](uint32_t group) {
    taken[group] = true;
    order.push_back(group);
  };
  for (uint32_t group = 0; group < groups_.size(); ++group)
    if (missing[group] == 0) take(group);
  std::vector<uint32_t> by_start;
  size_t forced = 0;
  for (size_t done = 0; done < groups_.size(); ++done) {
    if (done == order.size()) {
      if (by_start.empty()) {
        by_start.resize(groups_.size());
        std::iota(by_start.begin(), by_start.end(), 0);
        std::stable_sort(by_start.begin(), by_start.end(), [&](uint32_t a, uint32_t b) {
          return at(groups_[a].front()).start_us < at(groups_[b].front()).start_us;
        });
      }
      while (taken[by_start[forced]]) ++forced;
      take(by_start[forced]);
    }
    for (uint32_t i = begin[order[done]]; i < begin[order[done] + 1]; ++i)
      if (--missing[next[i]] == 0 && !taken[next[i]]) take(next[i]);
  }

  std::vector<uint32_t> position(order_.size());
  for (const uint32_t group : order) {
    graph.group_begin.push_back(static_cast<uint32_t>(graph.operations.size()));
    for (const uint32_t local : groups_[group]) {
      position[local] = static_cast<uint32_t>(graph.operations.size());
      graph.operations.push_back(order_[local]);
      graph.own_us.push_back(own_[local]);
    }
  }
  graph.group_begin.push_back(static_cast<uint32_t>(graph.operations.size()));

  const auto comes_before = [&](const auto& edge) {
    return graph.operations.size() > 0 && position[edge.second] < position[edge.first] &&
           group_of_[edge.first] != group_of_[edge.second];
  };
  graph.wait_begin.assign(order_.size() + 1, 0);
  for (const auto& edge : edges_)
    if (comes_before(edge)) ++graph.wait_begin[position[edge.first] + 1];
  std::partial_sum(graph.wait_begin.begin(), graph.wait_begin.end(), graph.wait_begin.begin());
  graph.waits.resize(graph.wait_begin.back());
  graph.left_out = edges_.size() - graph.waits.size();
  std::vector<uint32_t> at_wait(graph.wait_begin.begin(), graph.wait_begin.end() - 1);
  for (const auto& edge : edges_)
    if (comes_before(edge)) graph.waits[at_wait[position[edge.first]]++] = position[edge.second];
}

StepGraph StepCompiler::compile() {
  StepGraph graph;
  const auto rank_of = [&](uint32_t local) {
    return std::tuple(at(local).stage, at(local).replica, at(local).lane);
  };
  const auto count = static_cast<uint32_t>(order_.size());
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    for (end = begin; end < count && rank_of(end) == rank_of(begin);) ++end;
    compile_rank(begin, end);
  }
  meet();
  own_durations();
  put_in_order(graph);
  double first = at(0).start_us, last = first;
  for (uint32_t local = 0; local < count; ++local) {
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
    std::stable_sort(steps[step].begin(), steps[step].end(),
                     [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    graphs[step] = StepCompiler(timeline, steps[step]).compile();
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
