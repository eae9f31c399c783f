#include <algorithm>
#include <set>

#include "analysis/flight/flight_parts.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kMillisecond = 1e-3;

void count(FlightTimes& row, const run::FlightCall& call) {
  ++row.count;
  if (call.duration_ms < 0) return;
  const double seconds = call.duration_ms * kMillisecond;
  ++row.timed;
  row.mean_s += (seconds - row.mean_s) / static_cast<double>(row.timed);
  row.longest_s = std::max(row.longest_s, seconds);
}

/// How much later than the first a rank came, by rank; nothing of what one dump alone holds.
std::map<int64_t, int64_t> lateness_at(const FlightGroupCalls& group, int64_t sequence) {
  std::map<int64_t, int64_t> created;
  for (const auto& [rank, member] : group.members)
    if (const auto turn = member.turns.find(sequence);
        turn != member.turns.end() && turn->second.front()->created_ns > 0)
      created[rank] = turn->second.front()->created_ns;
  std::map<int64_t, int64_t> lateness;
  if (created.size() < 2) return lateness;
  const int64_t first =
      std::ranges::min_element(created, {}, [](const auto& it) { return it.second; })->second;
  for (const auto& [rank, time] : created) lateness[rank] = time - first;
  return lateness;
}

}  // namespace

std::vector<FlightTimes> flight_times(const std::vector<FlightGroupCalls>& groups) {
  std::map<std::pair<std::string, std::string>, FlightTimes> rows;
  for (const FlightGroupCalls& group : groups)
    for (const auto& [rank, member] : group.members)
      for (const auto& [sequence, turn] : member.turns) {
        const run::FlightCall& call = *turn.back();
        if (call.state != run::FlightCall::State::kCompleted) continue;
        const std::string title = group.description.empty() || group.description == "undefined"
                                      ? group.name
                                      : group.description;
        FlightTimes& row = rows[{call.name, title}];
        row.name = call.name;
        row.group = title;
        count(row, call);
      }
  std::vector<FlightTimes> all = base::values_of(std::move(rows));
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const FlightTimes& row) {
    return row.mean_s * static_cast<double>(row.timed);
  });
  return all;
}

std::vector<FlightArrivals> flight_arrivals(const std::vector<FlightGroupCalls>& groups) {
  std::map<int64_t, std::vector<double>> by_rank;
  std::map<int64_t, int64_t> last;
  for (const FlightGroupCalls& group : groups) {
    std::set<int64_t> sequences;
    for (const auto& [rank, member] : group.members)
      for (const auto& [sequence, turn] : member.turns) sequences.insert(sequence);
    for (const int64_t sequence : sequences) {
      const auto lateness = lateness_at(group, sequence);
      if (lateness.empty()) continue;
      for (const auto& [rank, late] : lateness) by_rank[rank].push_back(static_cast<double>(late));
      ++last[std::ranges::max_element(lateness, {}, [](const auto& it) {
               return it.second;
             })->first];
    }
  }
  std::vector<FlightArrivals> all;
  for (auto& [rank, late] : by_rank)
    all.push_back({.rank = rank,
                   .collectives = static_cast<int64_t>(late.size()),
                   .last = last[rank],
                   .median_ns = static_cast<int64_t>(base::upper_median(late)),
                   .latest_ns = static_cast<int64_t>(std::ranges::max(late))});
  std::ranges::stable_sort(all, std::ranges::greater{}, &FlightArrivals::median_ns);
  return all;
}

}  // namespace ergometer::analysis
