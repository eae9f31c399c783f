#include "analysis/telemetry/collective_timings.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/collection.h"

namespace ergometer::analysis {
namespace {

struct SizeTimes {
  size_t row = 0;
  std::vector<double> seconds, algorithm, bus;
};

void add_sizes(const run::DeviceLog& log, std::vector<CollectiveSize>& rows) {
  using Key = std::tuple<std::string, std::string, double>;
  std::map<Key, SizeTimes> all;
  for (const run::CollectiveLog& c : log.collectives) {
    for (const run::CollectiveTiming& t : c.timings) {
      const auto [at, is_new] = all.emplace(Key{c.communicator, t.kind, t.bytes}, SizeTimes{});
      SizeTimes& times = at->second;
      if (is_new) {
        times.row = rows.size();
        CollectiveSize row;
        row.source = c.source;
        row.communicator = c.communicator;
        row.kind = t.kind;
        row.ranks = c.ranks;
        row.nodes = c.nodes;
        row.bytes = t.bytes;
        rows.push_back(std::move(row));
      }
      times.seconds.push_back(t.seconds);
      times.algorithm.push_back(t.algorithm_gb_per_s);
      times.bus.push_back(t.bus_gb_per_s);
    }
  }
  for (auto& [key, times] : all) {
    CollectiveSize& row = rows[times.row];
    row.timings = static_cast<int64_t>(times.seconds.size());
    row.lowest_s = *std::ranges::min_element(times.seconds);
    row.highest_s = *std::ranges::max_element(times.seconds);
    row.median_s = base::upper_median(std::move(times.seconds));
    row.algorithm_gb_per_s = base::upper_median(std::move(times.algorithm));
    row.bus_gb_per_s = base::upper_median(std::move(times.bus));
  }
}

/// One collective, by the ranks that measured it.
struct RankTime {
  int64_t rank = 0;
  double seconds = 0;
};
using Matched = std::map<std::pair<std::string, int64_t>, std::vector<RankTime>>;

void add_collective(const std::vector<RankTime>& times, std::map<int64_t, CommunicatorRank>& ranks,
                    int64_t& apart, double& all_s) {
  const auto shorter = [](const RankTime& a, const RankTime& b) { return a.seconds < b.seconds; };
  const auto [last, first] = std::ranges::minmax_element(times, shorter);
  const double sum = base::sum(times, [&](const RankTime& time) { return time.seconds; });
  all_s += sum;
  constexpr double kApart = 20e-6, kPart = 0.05;
  if (first->seconds - last->seconds < std::max(kApart, kPart * last->seconds)) return;
  ++apart;
  CommunicatorRank& late = ranks[last->rank];
  ++late.last;
  late.others_waited_s += sum - static_cast<double>(times.size()) * last->seconds;
}

void add_ranks_of(const std::string& communicator, const run::DeviceLog& log,
                  std::vector<CommunicatorRank>& all) {
  Matched matched;
  std::map<int64_t, CommunicatorRank> ranks;
  for (const run::CollectiveLog& c : log.collectives) {
    if (c.communicator != communicator || c.rank < 0) continue;
    CommunicatorRank& rank = ranks[c.rank];
    rank.communicator = communicator;
    rank.rank = c.rank;
    if (!c.host.empty()) rank.host = c.host;
    for (const run::CollectiveTiming& t : c.timings)
      if (t.sequence >= 0) matched[{t.kind, t.sequence}].push_back({c.rank, t.seconds});
  }
  int64_t apart = 0;
  double all_s = 0;
  for (const auto& [collective, times] : matched)
    if (times.size() > 1) add_collective(times, ranks, apart, all_s);
  if (!(all_s > 0)) return;
  constexpr int64_t kFewest = 10;
  const size_t begin = all.size();
  for (auto& [number, rank] : ranks) {
    rank.apart = apart;
    rank.all_time_s = all_s;
    rank.late = apart >= kFewest && 2 * rank.last > apart;
    all.push_back(std::move(rank));
  }
  std::stable_sort(
      all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(),
      [](const auto& a, const auto& b) { return a.others_waited_s > b.others_waited_s; });
}

}  // namespace

CollectiveTimings collective_timings(const run::DeviceLog& log) {
  CollectiveTimings result;
  add_sizes(log, result.sizes);
  std::vector<std::string> communicators;
  for (const run::CollectiveLog& c : log.collectives)
    if (!base::contains(communicators, c.communicator)) communicators.push_back(c.communicator);
  for (const std::string& communicator : communicators)
    add_ranks_of(communicator, log, result.ranks);
  return result;
}

}  // namespace ergometer::analysis
