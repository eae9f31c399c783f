#include "analysis/flight/flight_report.h"

#include <algorithm>
#include <set>

#include "analysis/flight/flight_parts.h"
#include "base/collection.h"

namespace ergometer::analysis {

bool FlightReport::all_ended() const {
  return pending.empty() && std::ranges::all_of(groups, [](const FlightGroupReport& group) {
           return group.fault == FlightFault::kNone;
         });
}

FlightReport report_flight(const std::vector<run::FlightDump>& dumps) {
  FlightReport report;
  for (const run::FlightDump& dump : dumps)
    report.ranks.push_back(
        {dump.rank, dump.file, dump.version, static_cast<int64_t>(dump.calls.size())});
  const auto groups = flight_groups(dumps);
  report.groups = base::mapped(groups, compare_calls);
  std::set<int64_t> without_dump;
  for (const FlightGroupReport& group : report.groups)
    without_dump.insert(group.without_dump.begin(), group.without_dump.end());
  report.without_dump.assign(without_dump.begin(), without_dump.end());
  report.pending = pending_calls(dumps);
  find_culprits(report);
  report.times = flight_times(groups);
  report.arrivals = flight_arrivals(groups);
  tell_flight(report);
  return report;
}

}  // namespace ergometer::analysis
