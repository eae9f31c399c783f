#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "analysis/flight/flight_parts.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

using run::FlightCall;

/// Whether a dump holds all that its rank ever called: nothing was overwritten.
bool is_whole(const run::FlightDump& dump) {
  return dump.calls.empty() || dump.calls.front().record == 0;
}

const FlightTurn* turn_of(const FlightMember& member, int64_t sequence) {
  const auto found = member.turns.find(sequence);
  return found == member.turns.end() ? nullptr : &found->second;
}

FlightDid did_at(const FlightMember& member, int64_t sequence) {
  if (const FlightTurn* turn = turn_of(member, sequence)) return did_of(turn->back()->state);
  if (member.turns.empty())
    return is_whole(*member.dump) ? FlightDid::kNotCalled : FlightDid::kNotKept;
  return sequence > member.turns.rbegin()->first ? FlightDid::kNotCalled : FlightDid::kNotKept;
}

/// Whether all ranks of a collective give tensors of one size.
bool has_even_sizes(std::string_view name) {
  for (const std::string_view word : {"all_to_all", "alltoall", "gather", "scatter", "coalesced"})
    if (base::contains(base::lower(name), word))
      return base::contains(name, "reduce_scatter") || base::contains(name, "all_gather") ||
             base::contains(name, "allgather");
  return true;
}

/// The call's name; of a coalesced one also how many calls it joins.
std::string name_of(const FlightTurn& turn) {
  return turn.size() == 1 ? turn.back()->name
                          : fmt::format("{} of {} calls", turn.back()->name, turn.size() - 1);
}

/// What must be the same on all ranks. Shapes may differ where their elements are as many.
std::tuple<std::string, int64_t, std::string> signature(const FlightTurn& turn) {
  const FlightCall& call = *turn.back();
  if (turn.size() > 1 || !has_even_sizes(call.name)) return {name_of(turn), -1, call.dtypes};
  return {call.name, call.elements, call.dtypes};
}

FlightCallers callers_of(const FlightMember& member, int64_t sequence) {
  FlightCallers callers{.did = did_at(member, sequence)};
  if (const FlightTurn* turn = turn_of(member, sequence)) {
    const FlightCall& call = *turn->back();
    callers.name = name_of(*turn);
    callers.sizes = call.sizes;
    callers.dtypes = call.dtypes;
    callers.frame = call.frame;
  } else if (callers.did == FlightDid::kNotCalled && !member.dump->calls.empty()) {
    callers.frame = member.dump->calls.back().frame;
  }
  return callers;
}

bool are_alike(const FlightCallers& a, const FlightCallers& b) {
  return std::tie(a.did, a.name, a.sizes, a.dtypes, a.frame) ==
         std::tie(b.did, b.name, b.sizes, b.dtypes, b.frame);
}

std::vector<FlightCallers> all_callers(const FlightGroupCalls& group, int64_t sequence) {
  std::vector<FlightCallers> all;
  for (const auto& [rank, member] : group.members) {
    FlightCallers one = callers_of(member, sequence);
    auto same = std::ranges::find_if(all, [&](const auto& it) { return are_alike(it, one); });
    if (same == all.end()) same = all.insert(all.end(), std::move(one));
    same->ranks.push_back(rank);
  }
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const auto& c) { return c.ranks.size(); });
  return all;
}

std::vector<int64_t> who(const FlightGroupCalls& group, int64_t sequence, FlightDid did) {
  std::vector<int64_t> ranks;
  for (const auto& [rank, member] : group.members)
    if (did_at(member, sequence) == did) ranks.push_back(rank);
  return ranks;
}

/// Who called something else than most; nobody where no call has most ranks.
std::vector<int64_t> odd_ones(const FlightGroupCalls& group, int64_t sequence) {
  std::map<std::tuple<std::string, int64_t, std::string>, std::vector<int64_t>> by_call;
  for (const auto& [rank, member] : group.members)
    if (const FlightTurn* turn = turn_of(member, sequence))
      by_call[signature(*turn)].push_back(rank);
  const auto size = [](const auto& it) { return it.second.size(); };
  const auto most = std::ranges::max_element(by_call, {}, size);
  std::vector<int64_t> ranks;
  for (auto it = by_call.begin(); it != by_call.end(); ++it) {
    if (it == most) continue;
    if (size(*it) == size(*most)) return {};
    ranks.insert(ranks.end(), it->second.begin(), it->second.end());
  }
  std::ranges::sort(ranks);
  return ranks;
}

FlightFault fault_at(const FlightGroupCalls& group, int64_t sequence) {
  const FlightTurn* first = nullptr;
  bool not_called = false, not_completed = false;
  for (const auto& [rank, member] : group.members) {
    const FlightDid did = did_at(member, sequence);
    not_called = not_called || did == FlightDid::kNotCalled;
    not_completed = not_completed || did == FlightDid::kStarted || did == FlightDid::kScheduled;
    const FlightTurn* const turn = turn_of(member, sequence);
    if (turn == nullptr) continue;
    if (first != nullptr && signature(*first) != signature(*turn)) return FlightFault::kMismatch;
    first = turn;
  }
  if (not_called) return FlightFault::kNotCalled;
  return not_completed ? FlightFault::kNotCompleted : FlightFault::kNone;
}

std::vector<int64_t> awaited_at(const FlightGroupCalls& group, const FlightGroupReport& report) {
  if (report.fault == FlightFault::kMismatch) return odd_ones(group, report.sequence);
  if (report.fault == FlightFault::kNotCalled)
    return who(group, report.sequence, FlightDid::kNotCalled);
  if (!report.without_dump.empty()) return report.without_dump;
  const bool any_began = !who(group, report.sequence, FlightDid::kStarted).empty() ||
                         !who(group, report.sequence, FlightDid::kCompleted).empty();
  if (!any_began) return {};
  return who(group, report.sequence, FlightDid::kScheduled);
}

/// A dump need not name all groups of its rank, nor a group its ranks.
void complete_members(FlightGroupCalls& group, const std::vector<run::FlightDump>& dumps) {
  if (group.ranks.empty())
    for (const auto& [rank, member] : group.members) group.ranks.push_back(rank);
  for (const int64_t rank : group.ranks) {
    const auto dump = std::ranges::lower_bound(dumps, rank, {}, &run::FlightDump::rank);
    if (dump != dumps.end() && dump->rank == rank) group.members[rank].dump = &*dump;
  }
}

}  // namespace

std::string_view to_word(FlightDid did) {
  switch (did) {
    case FlightDid::kCompleted: return "completed";
    case FlightDid::kStarted: return "started";
    case FlightDid::kScheduled: return "scheduled";
    case FlightDid::kNotCalled: return "not_called";
    case FlightDid::kNotKept: return "not_kept";
  }
  return "";
}

std::string_view to_word(FlightFault fault) {
  switch (fault) {
    case FlightFault::kNone: return "none";
    case FlightFault::kMismatch: return "mismatch";
    case FlightFault::kNotCalled: return "not_called";
    case FlightFault::kNotCompleted: return "not_completed";
  }
  return "";
}

FlightDid did_of(FlightCall::State state) {
  if (state == FlightCall::State::kCompleted) return FlightDid::kCompleted;
  return state == FlightCall::State::kStarted ? FlightDid::kStarted : FlightDid::kScheduled;
}

std::vector<FlightGroupCalls> flight_groups(const std::vector<run::FlightDump>& dumps) {
  std::map<std::pair<std::string, std::vector<int64_t>>, size_t> numbers;
  std::vector<FlightGroupCalls> groups;
  for (const run::FlightDump& dump : dumps) {
    std::vector<size_t> here;
    for (const run::FlightGroup& group : dump.groups) {
      const auto [at, is_new] = numbers.emplace(std::pair(group.name, group.ranks), groups.size());
      if (is_new) groups.push_back({group.name, group.description, group.ranks, {}});
      here.push_back(at->second);
      groups[at->second].members[dump.rank].dump = &dump;
    }
    for (const FlightCall& call : dump.calls)
      if (!call.p2p)
        groups[here[call.group]].members[dump.rank].turns[call.sequence].push_back(&call);
  }
  for (FlightGroupCalls& group : groups) complete_members(group, dumps);
  return groups;
}

FlightGroupReport compare_calls(const FlightGroupCalls& group) {
  FlightGroupReport report{
      .name = group.name, .description = group.description, .ranks = group.ranks};
  for (const int64_t rank : group.ranks)
    if (!group.members.contains(rank)) report.without_dump.push_back(rank);
  std::set<int64_t> sequences;
  for (const auto& [rank, member] : group.members)
    for (const auto& [sequence, turn] : member.turns) sequences.insert(sequence);
  for (const int64_t sequence : sequences) {
    report.fault = fault_at(group, sequence);
    if (report.fault == FlightFault::kNone) {
      report.last_completed = sequence;
      continue;
    }
    report.sequence = sequence;
    report.callers = all_callers(group, sequence);
    report.awaited = awaited_at(group, report);
    break;
  }
  return report;
}

std::string rank_list(std::vector<int64_t> ranks) {
  constexpr size_t kMostStretches = 6;
  std::ranges::sort(ranks);
  std::string text;
  size_t stretches = 0;
  for (size_t i = 0; i < ranks.size(); ++stretches) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (stretches == kMostStretches) return text + fmt::format(" and {} more", ranks.size() - i);
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (end - i > 1) text += fmt::format("{}{}", end - i > 2 ? "-" : ", ", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string group_title(const std::string& name, const std::string& description) {
  return description.empty() || description == "undefined"
             ? name
             : fmt::format("{} ({})", name, description);
}

}  // namespace ergometer::analysis
