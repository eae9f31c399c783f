#include "analysis/arrivals.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "analysis/collectives.h"
#include "analysis/sum.h"

namespace ergometer::analysis {
namespace {

/// One rank's kernel of a collective, on the clock that all ranks share.
struct Call {
  int64_t start_ns = 0, end_ns = 0, sequence = -1;
};
/// The calls of one kind and group on one rank, in order of time.
struct Side {
  size_t rank = 0;  ///< among the traces
  std::vector<Call> calls;
};
struct Key {
  CollectiveKind kind;
  std::string group;
  auto operator<=>(const Key&) const = default;
};
using Sides = std::map<Key, std::vector<Side>>;

bool is_point_to_point(const run::Collective& known, CollectiveKind kind) {
  return kind == CollectiveKind::kSendRecv && !known.name.empty();
}

/// Traces whose clocks count from different epochs are put on the earliest one.
int64_t clock_offset(const std::vector<run::RankTrace>& ranks, size_t rank) {
  int64_t earliest = ranks.front().base_time_ns;
  for (const run::RankTrace& trace : ranks) earliest = std::min(earliest, trace.base_time_ns);
  return ranks[rank].base_time_ns - earliest;
}

void add_calls(const std::vector<run::RankTrace>& ranks, size_t rank, Sides& sides,
               int64_t& unmatched) {
  const run::RankTrace& trace = ranks[rank];
  const int64_t offset = clock_offset(ranks, rank);
  for (const run::GpuEvent& event : trace.events) {
    if (event.kind != run::GpuClass::kCommunication) continue;
    const run::Collective& known = collective_of(trace, event);
    const CollectiveKind kind = kind_of(trace, event);
    if (is_point_to_point(known, kind)) {
      ++unmatched;
      continue;
    }
    std::vector<Side>& of_key = sides[{kind, known.group}];
    if (of_key.empty() || of_key.back().rank != rank) of_key.push_back({rank, {}});
    of_key.back().calls.push_back(
        {event.start_ns + offset, event.end_ns() + offset, known.sequence});
  }
  for (auto& [key, of_key] : sides) {
    if (of_key.back().rank != rank) continue;
    std::stable_sort(of_key.back().calls.begin(), of_key.back().calls.end(),
                     [](const Call& a, const Call& b) { return a.start_ns < b.start_ns; });
  }
}

/// One collective, as every rank that takes part saw it.
void add_collective(const std::vector<std::pair<size_t, Call>>& calls, ArrivalTable& table) {
  int64_t first = INT64_MAX, last = INT64_MIN, end = INT64_MAX;
  size_t latest = 0;
  for (const auto& [rank, call] : calls) {
    if (call.start_ns > last) latest = rank;
    first = std::min(first, call.start_ns);
    last = std::max(last, call.start_ns);
    end = std::min(end, call.end_ns);
  }
  ++table.matched;
  add_time(table.skew_ns, last - first);
  add_time(table.transfer_ns, std::max<int64_t>(end - last, 0));
  ++table.ranks[latest].last;
  for (const auto& [rank, call] : calls) {
    add_time(table.ranks[rank].lateness_ns, call.start_ns - first);
    add_time(table.ranks[rank].waiting_ns, last - call.start_ns);
  }
}

/// False, and nothing done, when a call has no number.
bool match_by_sequence(const std::vector<Side>& sides, ArrivalTable& table) {
  std::map<int64_t, std::vector<std::pair<size_t, Call>>> by_number;
  for (const Side& side : sides) {
    for (const Call& call : side.calls) {
      if (call.sequence < 0) return false;
      auto& calls = by_number[call.sequence];
      // Several kernels of one number are one collective in pieces: the first one arrives.
      if (calls.empty() || calls.back().first != side.rank) calls.emplace_back(side.rank, call);
    }
  }
  for (const auto& [number, calls] : by_number) {
    if (calls.size() == sides.size()) {
      add_collective(calls, table);
    } else {
      table.unmatched += static_cast<int64_t>(calls.size());
    }
  }
  return true;
}

void match_by_order(const std::vector<Side>& sides, ArrivalTable& table) {
  const size_t count = sides.front().calls.size();
  const bool same = std::all_of(sides.begin(), sides.end(),
                                [&](const Side& side) { return side.calls.size() == count; });
  for (size_t i = 0; same && i < count; ++i) {
    std::vector<std::pair<size_t, Call>> calls;
    for (const Side& side : sides) calls.emplace_back(side.rank, side.calls[i]);
    add_collective(calls, table);
  }
  if (same) return;
  for (const Side& side : sides) table.unmatched += static_cast<int64_t>(side.calls.size());
}

}  // namespace

ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks) {
  ArrivalTable table;
  std::set<int64_t> numbers;
  for (const run::RankTrace& trace : ranks) numbers.insert(trace.rank);
  if (ranks.size() < 2 || numbers.size() < ranks.size()) return table;
  Sides sides;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    table.ranks.push_back({.rank = ranks[rank].rank});
    add_calls(ranks, rank, sides, table.unmatched);
  }
  for (const auto& [key, of_key] : sides) {
    const bool complete =
        of_key.size() >= 2 && (!key.group.empty() || of_key.size() == ranks.size());
    if (!complete) {
      for (const Side& side : of_key) table.unmatched += static_cast<int64_t>(side.calls.size());
    } else if (!match_by_sequence(of_key, table)) {
      match_by_order(of_key, table);
    }
  }
  return table;
}

}  // namespace ergometer::analysis
