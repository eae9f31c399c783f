#include "analysis/ranks/arrivals.h"

#include <algorithm>
#include <utility>

#include "analysis/math/sum.h"
#include "analysis/trace/breakdown.h"

namespace ergometer::analysis {
namespace {

/// When a rank waits in collectives of each kind, on its own clock.
using Waits = std::map<CollectiveKind, std::vector<Interval>>;

void add_exposed(Waits waits, Intervals beside, Arrival& rank) {
  for (auto& [kind, pieces] : waits) {
    Intervals with = unite(beside, unite(std::move(pieces)));
    const int64_t exposed = length(with) - length(beside);
    if (exposed > 0) rank.exposed_waiting_by_kind[kind] = exposed;
    rank.exposed_waiting_ns += exposed;
    beside = std::move(with);
  }
}

}  // namespace

Meeting meeting_of(const std::vector<run::RankTrace>& ranks, const CollectiveInstance& one,
                   const ClockTable& clocks) {
  Meeting meeting{INT64_MAX, INT64_MIN, INT64_MAX, 0};
  for (size_t i = 0; i < one.calls.size(); ++i) {
    const auto [trace, index] = one.calls[i];
    const run::GpuEvent& event = ranks[trace].events[index];
    const int64_t start = clocks.common_ns(trace, event.start_ns);
    if (start > meeting.last_ns) meeting.latest = i;
    meeting.first_ns = std::min(meeting.first_ns, start);
    meeting.last_ns = std::max(meeting.last_ns, start);
    meeting.end_ns = std::min(meeting.end_ns, clocks.common_ns(trace, event.end_ns()));
  }
  return meeting;
}

ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks,
                           const MatchedCollectives& collectives, const ClockTable& clocks) {
  ArrivalTable table;
  table.unmatched = collectives.unmatched;
  if (collectives.instances.empty() && collectives.unmatched == 0) return table;
  for (const run::RankTrace& trace : ranks) table.ranks.push_back({.rank = trace.rank});
  std::vector<Waits> waits(ranks.size());
  for (const CollectiveInstance& one : collectives.instances) {
    if (one.message) continue;
    const Meeting meeting = meeting_of(ranks, one, clocks);
    ++table.matched;
    add_time(table.skew_ns, meeting.last_ns - meeting.first_ns);
    add_time(table.transfer_ns, std::max<int64_t>(meeting.end_ns - meeting.last_ns, 0));
    ++table.ranks[one.calls[meeting.latest].trace].last;
    for (const auto& [trace, index] : one.calls) {
      const run::GpuEvent& event = ranks[trace].events[index];
      const int64_t start = clocks.common_ns(trace, event.start_ns),
                    waiting = meeting.last_ns - start;
      add_time(table.ranks[trace].lateness_ns, start - meeting.first_ns);
      add_time(table.ranks[trace].waiting_ns, waiting);
      waits[trace][one.kind].push_back(
          {event.start_ns, event.start_ns + std::min(waiting, event.duration_ns)});
    }
  }
  for (size_t i = 0; i < ranks.size(); ++i)
    add_exposed(std::move(waits[i]), compute_intervals(ranks[i]), table.ranks[i]);
  return table;
}

ArrivalTable arrival_table(const std::vector<run::RankTrace>& ranks) {
  const MatchedCollectives collectives = match_collectives(ranks);
  return arrival_table(ranks, collectives, align_clocks(ranks, collectives));
}

}  // namespace ergometer::analysis
