#include "analysis/ranks/slow_ranks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/math/sum.h"

namespace ergometer::analysis {
namespace {

constexpr double kSlower = 1.05;

/// How often a rank runs every kernel.
using Calls = std::map<std::string_view, int64_t>;
/// Of its kernels' time, the first and the second half of each one's calls.
using Halves = std::array<int64_t, 2>;

Calls calls_of(const run::RankTrace& trace) {
  Calls calls;
  for (const run::GpuEvent& event : trace.events)
    if (event.kind == run::GpuClass::kCompute) ++calls[trace.names[event.name]];
  return calls;
}

Halves time_of(const run::RankTrace& trace, const Calls& calls) {
  Calls so_far;
  Halves sums{};
  for (const run::GpuEvent& event : trace.events) {
    if (event.kind != run::GpuClass::kCompute) continue;
    const std::string_view name = trace.names[event.name];
    const bool second = 2 * so_far[name]++ >= calls.at(name);
    add_time(sums[second ? 1 : 0], event.duration_ns);
  }
  return sums;
}

int64_t lower_median(std::vector<int64_t> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool takes_longer(int64_t own_ns, int64_t others_ns) {
  return static_cast<double>(own_ns) > kSlower * static_cast<double>(others_ns);
}

/// Of ranks with the same work, the slow ones.
void add_slow(const std::vector<run::RankTrace>& ranks, const Calls& calls,
              const std::vector<size_t>& alike, std::vector<SlowRank>& slow) {
  std::vector<Halves> times;
  std::array<std::vector<int64_t>, 2> of_half;
  for (const size_t trace : alike) {
    times.push_back(time_of(ranks[trace], calls));
    for (size_t half = 0; half < 2; ++half) of_half[half].push_back(times.back()[half]);
  }
  const Halves usual = {lower_median(of_half[0]), lower_median(of_half[1])};
  for (size_t i = 0; i < alike.size(); ++i) {
    const Halves& own = times[i];
    const bool known = usual[0] > 0 && usual[1] > 0;
    if (!known || !takes_longer(own[0], usual[0]) || !takes_longer(own[1], usual[1])) continue;
    const double ratio = (static_cast<double>(own[0]) + static_cast<double>(own[1])) /
                         (static_cast<double>(usual[0]) + static_cast<double>(usual[1]));
    slow.push_back({alike[i], ranks[alike[i]].rank, ratio});
  }
}

bool has_twice(const std::vector<run::RankTrace>& ranks) {
  std::set<int64_t> seen;
  return !std::ranges::all_of(
      ranks, [&](const run::RankTrace& trace) { return seen.insert(trace.rank).second; });
}

}  // namespace

SlowRanks find_slow_ranks(const std::vector<run::RankTrace>& ranks, const EventGraph& graph) {
  SlowRanks result;
  if (has_twice(ranks)) return result;
  std::map<Calls, std::vector<size_t>> by_work;
  for (size_t trace = 0; trace < ranks.size(); ++trace)
    by_work[calls_of(ranks[trace])].push_back(trace);
  for (const auto& [calls, alike] : by_work)
    if (alike.size() > 1 && !calls.empty()) add_slow(ranks, calls, alike, result.ranks);
  if (result.ranks.empty()) return result;
  std::ranges::sort(result.ranks, {}, &SlowRank::trace);
  Replay replay{.shares = std::vector<double>(ranks.size(), 1)};
  for (const SlowRank& slow : result.ranks) replay.shares[slow.trace] = 1 / slow.times;
  result.saved_if_equal_ns =
      std::max<int64_t>(0, replayed_span(graph, {}) - replayed_span(graph, replay));
  return result;
}

}  // namespace ergometer::analysis
