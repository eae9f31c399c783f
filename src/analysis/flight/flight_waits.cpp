#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "analysis/flight/flight_parts.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

using run::FlightCall;
using run::FlightDump;

/// The rank behind an arrow: "nccl:recv 3<-2" is 2, "nccl:send 2->3" is 3.
std::optional<int64_t> peer_in(std::string_view name) {
  size_t at = name.find("<-");
  if (at == name.npos) at = name.find("->");
  if (at == name.npos) return std::nullopt;
  int64_t peer = 0;
  const auto read = std::from_chars(name.data() + at + 2, name.data() + name.size(), peer);
  return read.ec == std::errc() && peer >= 0 ? std::optional(peer) : std::nullopt;
}

FlightPending pending_of(const FlightDump& dump, const FlightCall& call) {
  const run::FlightGroup& group = dump.groups[call.group];
  FlightPending pending{.rank = dump.rank,
                        .send = call.name.find("send") != call.name.npos,
                        .did = did_of(call.state),
                        .group = group_title(group.name, group.description),
                        .name = call.name,
                        .frame = call.frame};
  const auto peer = peer_in(call.name);
  if (!peer) return pending;
  const auto place = static_cast<size_t>(*peer);
  if (place < group.ranks.size()) pending.peer = group.ranks[place];
  if (group.ranks.empty()) pending.peer = *peer;
  return pending;
}

/// A rank's own wait: where it stands, in which group or with which peer.
using Stands = std::map<int64_t, std::set<size_t>>;

bool is_waiting(FlightDid did) {
  return did == FlightDid::kScheduled || did == FlightDid::kStarted;
}

Stands stands_of(const FlightReport& report) {
  Stands stands;
  for (size_t g = 0; g < report.groups.size(); ++g)
    for (const FlightCallers& callers : report.groups[g].callers)
      if (is_waiting(callers.did))
        for (const int64_t rank : callers.ranks) stands[rank].insert(g);
  for (size_t p = 0; p < report.pending.size(); ++p)
    stands[report.pending[p].rank].insert(report.groups.size() + p);
  return stands;
}

/// Whether a rank that is waited for at `here` stands somewhere else.
bool waits_elsewhere(const Stands& stands, int64_t rank, size_t here) {
  const auto found = stands.find(rank);
  return found != stands.end() &&
         std::ranges::any_of(found->second, [&](size_t at) { return at != here; });
}

}  // namespace

std::vector<FlightPending> pending_calls(const std::vector<FlightDump>& dumps) {
  std::vector<FlightPending> all;
  for (const FlightDump& dump : dumps)
    for (const FlightCall& call : dump.calls)
      if (call.p2p && call.state != FlightCall::State::kCompleted)
        all.push_back(pending_of(dump, call));
  std::set<std::tuple<int64_t, int64_t, bool>> called;
  for (const FlightPending& one : all) called.emplace(one.rank, one.peer, one.send);
  for (FlightPending& one : all) one.answered = called.contains({one.peer, one.rank, !one.send});
  return all;
}

void find_culprits(FlightReport& report) {
  const Stands stands = stands_of(report);
  std::set<int64_t> culprits;
  bool awaited = false;
  const auto look_at = [&](int64_t rank, size_t here) {
    awaited = true;
    if (!waits_elsewhere(stands, rank, here)) culprits.insert(rank);
  };
  for (size_t g = 0; g < report.groups.size(); ++g)
    for (const int64_t rank : report.groups[g].awaited) look_at(rank, g);
  for (size_t p = 0; p < report.pending.size(); ++p)
    if (const FlightPending& one = report.pending[p]; !one.answered && one.peer >= 0)
      look_at(one.peer, report.groups.size() + p);
  report.culprits.assign(culprits.begin(), culprits.end());
  report.in_a_circle = awaited && culprits.empty();
  const auto place = [&](const FlightGroupReport& group) {
    if (group.fault == FlightFault::kNone) return 2;
    return std::ranges::any_of(group.awaited, [&](int64_t r) { return culprits.contains(r); }) ? 0
                                                                                               : 1;
  };
  std::ranges::stable_sort(report.groups, {}, place);
}

}  // namespace ergometer::analysis
