#include "analysis/collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ergometer::analysis {
namespace {

const run::Collective& collective_of(const run::RankTrace& trace, const run::GpuEvent& event) {
  static const run::Collective kNothingKnown;
  return event.collective == run::GpuEvent::kNone ? kNothingKnown
                                                  : trace.collectives[event.collective];
}

CollectiveKind kind_of(const run::RankTrace& trace, const run::GpuEvent& event) {
  const run::Collective& known = collective_of(trace, event);
  return collective_kind(known.name.empty() ? trace.names[event.name] : known.name);
}

bool is_collective(const run::GpuEvent& event) {
  return event.kind == run::GpuClass::kCommunication;
}

struct RowSum {
  CollectiveRow row;
  double bus_bytes = 0;
  int64_t known_ns = 0;
};

void add(RowSum& sum, const run::RankTrace& trace, const run::GpuEvent& event) {
  ++sum.row.count;
  sum.row.total_ns += event.duration_ns;
  const run::Collective& known = collective_of(trace, event);
  const auto bytes = collective_bytes(known, sum.row.kind);
  if (!bytes || event.duration_ns <= 0) return;
  const double on_bus = *bytes * bus_factor(sum.row.kind, known.group_size);
  ++sum.row.known;
  sum.row.bytes += *bytes;
  sum.bus_bytes += on_bus;
  sum.known_ns += event.duration_ns;
  // Bytes per nanosecond are GB/s.
  sum.row.best_bus_gb_per_s =
      std::max(sum.row.best_bus_gb_per_s, on_bus / static_cast<double>(event.duration_ns));
}

// --- arrival

/// The collectives of one kind and group on one rank, in order of time.
using Key = std::tuple<CollectiveKind, std::string>;
using Sequences = std::map<Key, std::vector<const run::GpuEvent*>>;

Sequences sequences_of(const run::RankTrace& trace) {
  Sequences sequences;
  for (const run::GpuEvent& event : trace.events)
    if (is_collective(event))
      sequences[{kind_of(trace, event), collective_of(trace, event).group}].push_back(&event);
  for (auto& [key, events] : sequences)
    std::stable_sort(events.begin(), events.end(),
                     [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  return sequences;
}

/// The i-th of a sequence on every rank is one collective.
void add_matched(const std::vector<const std::vector<const run::GpuEvent*>*>& sides, size_t i,
                 ArrivalTable& table) {
  int64_t first = INT64_MAX, last = INT64_MIN, end = INT64_MAX;
  size_t latest = 0;
  for (size_t r = 0; r < sides.size(); ++r) {
    const run::GpuEvent& event = *(*sides[r])[i];
    if (event.start_ns > last) latest = r;
    first = std::min(first, event.start_ns);
    last = std::max(last, event.start_ns);
    end = std::min(end, event.end_ns());
  }
  ++table.matched;
  table.skew_ns += last - first;
  table.transfer_ns += std::max<int64_t>(end - last, 0);
  ++table.ranks[latest].last;
  for (size_t r = 0; r < sides.size(); ++r) {
    const int64_t start = (*sides[r])[i]->start_ns;
    table.ranks[r].lateness_ns += start - first;
    table.ranks[r].waiting_ns += last - start;
  }
}

}  // namespace

std::vector<CollectiveRow> collective_table(const std::vector<run::RankTrace>& ranks) {
  std::map<std::tuple<CollectiveKind, std::string, std::string, std::string, int64_t>, RowSum> sums;
  for (const run::RankTrace& trace : ranks) {
    for (const run::GpuEvent& event : trace.events) {
      if (!is_collective(event)) continue;
      const run::Collective& known = collective_of(trace, event);
      const CollectiveKind kind = kind_of(trace, event);
      RowSum& sum = sums[{kind, known.group, known.description, known.dtype, known.group_size}];
      sum.row.kind = kind;
      sum.row.group = known.group;
      sum.row.description = known.description;
      sum.row.dtype = known.dtype;
      sum.row.group_size = known.group_size;
      add(sum, trace, event);
    }
  }
  std::vector<CollectiveRow> table;
  for (auto& [key, sum] : sums) {
    if (sum.known_ns > 0)
      sum.row.mean_bus_gb_per_s = sum.bus_bytes / static_cast<double>(sum.known_ns);
    table.push_back(std::move(sum.row));
  }
  std::stable_sort(table.begin(), table.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return table;
}

ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks) {
  ArrivalTable table;
  std::set<int64_t> numbers;
  for (const run::RankTrace& trace : ranks) numbers.insert(trace.rank);
  // Two files of one rank are two stretches of time, not two sides of a collective.
  if (ranks.size() < 2 || numbers.size() < ranks.size()) return table;
  std::vector<Sequences> sequences;
  std::map<Key, int64_t> counts;
  for (const run::RankTrace& trace : ranks) {
    table.ranks.push_back({.rank = trace.rank});
    sequences.push_back(sequences_of(trace));
    for (const auto& [key, events] : sequences.back())
      counts[key] += static_cast<int64_t>(events.size());
  }
  for (const auto& [key, count] : counts) {
    std::vector<const std::vector<const run::GpuEvent*>*> sides;
    for (const Sequences& of_rank : sequences) {
      const auto found = of_rank.find(key);
      if (found == of_rank.end()) break;
      sides.push_back(&found->second);
    }
    // Only when every rank has as many of them is the i-th one surely the same collective.
    const bool same = sides.size() == ranks.size() &&
                      std::all_of(sides.begin(), sides.end(), [&](const auto* side) {
                        return side->size() == sides.front()->size();
                      });
    if (!same) {
      table.unmatched += count;
      continue;
    }
    for (size_t i = 0; i < sides.front()->size(); ++i) add_matched(sides, i, table);
  }
  return table;
}

}  // namespace ergometer::analysis
