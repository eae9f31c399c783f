#include "analysis/ranks/group_table.h"

#include <algorithm>
#include <map>

#include "analysis/math/intervals.h"
#include "analysis/math/sum.h"
#include "analysis/ranks/arrivals.h"
#include "analysis/ranks/collectives.h"
#include "analysis/trace/breakdown.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

/// Sums under keys of one kind: groups, or parallelisms.
template <class Key>
struct Rows {
  std::map<Key, GroupRow> rows;
  std::map<Key, std::vector<Interval>> pieces;  ///< of the rank at hand
};

void add_event(GroupRow& row, const run::Collective& known, CollectiveKind kind) {
  ++row.events;
  row.group_size = std::max(row.group_size, known.group_size);
  if (const auto bytes = collective_bytes(known, kind)) {
    row.bytes += *bytes;
    row.bus_bytes += *bytes * bus_factor(kind, known.group_size);
  }
}

template <class Key>
void close_rank(Rows<Key>& table, const Intervals& compute) {
  for (auto& [key, pieces] : table.pieces) {
    GroupRow& row = table.rows[key];
    const Intervals united = unite(std::move(pieces));
    const int64_t total = length(united), hidden = common_length(united, compute);
    ++row.ranks;
    add_time(row.total_ns, total);
    add_time(row.hidden_ns, hidden);
    add_time(row.exposed_ns, total - hidden);
  }
  table.pieces.clear();
}

void add_meeting(GroupRow& row, const std::vector<run::RankTrace>& ranks,
                 const CollectiveInstance& one, const ClockTable& clocks) {
  const Meeting meeting = meeting_of(ranks, one, clocks);
  ++row.matched;
  for (const auto& [trace, index] : one.calls) {
    const run::GpuEvent& event = ranks[trace].events[index];
    const int64_t start = clocks.common_ns(trace, event.start_ns),
                  end = clocks.common_ns(trace, event.end_ns());
    const int64_t waiting = std::clamp<int64_t>(meeting.last_ns - start, 0, end - start);
    add_time(row.waiting_ns, waiting);
    add_time(row.transfer_ns, end - start - waiting);
  }
}

template <class Key>
std::vector<GroupRow> sorted(Rows<Key>& table) {
  std::vector<GroupRow> rows = base::values_of(std::move(table.rows));
  std::ranges::stable_sort(
      rows, [](const auto& a, const auto& b) { return a.exposed_ns > b.exposed_ns; });
  return rows;
}

Parallelism parallelism_of_group(const GroupLabels& labels, const run::Collective& known) {
  return base::value_or(labels, std::pair(known.group, known.description), Parallelism());
}

}  // namespace

GroupTables group_tables(const std::vector<run::RankTrace>& ranks,
                         const MatchedCollectives& collectives, const ClockTable& clocks,
                         const GroupLabels& labels) {
  Rows<GroupKey> groups;
  Rows<std::pair<std::string, bool>> parallelisms;  // stated ones and inferred ones apart
  for (const run::RankTrace& trace : ranks) {
    for (const run::GpuEvent& event : trace.events) {
      if (event.kind != run::GpuClass::kCommunication) continue;
      const run::Collective& known = collective_of(trace, event);
      const CollectiveKind kind = kind_of(trace, event);
      const GroupKey key{known.group, known.description};
      const Parallelism parallelism = parallelism_of_group(labels, known);
      const std::pair label(label_of(labels, known), parallelism.stated);
      add_event(groups.rows[key], known, kind);
      add_event(parallelisms.rows[label], known, kind);
      groups.pieces[key].push_back({event.start_ns, event.end_ns()});
      parallelisms.pieces[label].push_back({event.start_ns, event.end_ns()});
      groups.rows[key].group = known.group;
      groups.rows[key].description = known.description;
      groups.rows[key].parallelism = parallelism;
      parallelisms.rows[label].parallelism = {label.first, label.second};
    }
    const Intervals compute = compute_intervals(trace);
    close_rank(groups, compute);
    close_rank(parallelisms, compute);
  }
  for (const CollectiveInstance& one : collectives.instances) {
    const CollectiveCall& call = one.calls.front();
    const run::Collective& known =
        collective_of(ranks[call.trace], ranks[call.trace].events[call.event]);
    add_meeting(groups.rows[{known.group, known.description}], ranks, one, clocks);
    const std::pair label(label_of(labels, known), parallelism_of_group(labels, known).stated);
    add_meeting(parallelisms.rows[label], ranks, one, clocks);
  }
  return {sorted(groups), sorted(parallelisms)};
}

}  // namespace ergometer::analysis
