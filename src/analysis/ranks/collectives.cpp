#include "analysis/ranks/collectives.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/math/sum.h"

namespace ergometer::analysis {
const run::Collective& collective_of(const run::RankTrace& trace, const run::GpuEvent& event) {
  static const run::Collective kNothingKnown;
  return event.collective == run::GpuEvent::kNone ? kNothingKnown
                                                  : trace.collectives[event.collective];
}

CollectiveKind kind_of(const run::RankTrace& trace, const run::GpuEvent& event) {
  const run::Collective& known = collective_of(trace, event);
  return collective_kind(known.name.empty() ? trace.names[event.name] : known.name);
}

namespace {

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
  add_time(sum.row.total_ns, event.duration_ns);
  const run::Collective& known = collective_of(trace, event);
  const auto bytes = collective_bytes(known, sum.row.kind);
  if (!bytes || event.duration_ns <= 0) return;
  const double on_bus = *bytes * bus_factor(sum.row.kind, known.group_size);
  ++sum.row.known;
  sum.row.bytes += *bytes;
  sum.bus_bytes += on_bus;
  add_time(sum.known_ns, event.duration_ns);
  // Bytes per nanosecond are GB/s.
  sum.row.best_bus_gb_per_s =
      std::max(sum.row.best_bus_gb_per_s, on_bus / static_cast<double>(event.duration_ns));
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
  std::ranges::stable_sort(table,
                           [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return table;
}

}  // namespace ergometer::analysis
