#include "analysis/ranks/slow_ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/math/sum.h"

namespace ergometer::analysis {
namespace {

constexpr double kSlower = 1.05;
constexpr int64_t kFewestCalls = 4;
constexpr double kMostUnlike = 1.0 / 3;

/// How often a rank runs every kernel.
using Calls = std::map<std::string_view, int64_t>;
/// How long every call of every kernel took that ran often enough, in order of time.
using Times = std::map<std::string_view, std::vector<int64_t>>;
/// Of such times, the first and the second half of each kernel's calls.
using Halves = std::array<int64_t, 2>;

Calls calls_of(const run::RankTrace& trace) {
  std::vector<int64_t> counts(trace.names.size());
  for (const run::GpuEvent& event : trace.events)
    if (event.kind == run::GpuClass::kCompute) ++counts[event.name];
  Calls calls;
  for (size_t name = 0; name < counts.size(); ++name)
    if (counts[name] > 0) calls[trace.names[name]] += counts[name];
  return calls;
}

Times times_of(const run::RankTrace& trace, const Calls& calls) {
  Times times;
  std::vector<std::vector<int64_t>*> of_name(trace.names.size());
  for (size_t name = 0; name < of_name.size(); ++name) {
    const auto found = calls.find(trace.names[name]);
    if (found != calls.end() && found->second >= kFewestCalls) of_name[name] = &times[found->first];
  }
  std::vector<const run::GpuEvent*> events;
  for (const run::GpuEvent& event : trace.events)
    if (event.kind == run::GpuClass::kCompute && of_name[event.name]) events.push_back(&event);
  std::ranges::stable_sort(events, {}, &run::GpuEvent::start_ns);
  for (const run::GpuEvent* event : events) of_name[event->name]->push_back(event->duration_ns);
  return times;
}

int64_t sum_of(const std::vector<int64_t>& durations) {
  int64_t sum = 0;
  for (const int64_t duration : durations) add_time(sum, duration);
  return sum;
}

Halves halves_of(const Times& times) {
  Halves sums{};
  for (const auto& [name, durations] : times)
    for (size_t i = 0; i < durations.size(); ++i)
      add_time(sums[2 * i >= durations.size() ? 1 : 0], durations[i]);
  return sums;
}

int64_t lower_median(std::vector<int64_t>& values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

Halves usual_halves(const std::vector<Halves>& halves) {
  Halves usual{};
  for (size_t half = 0; half < usual.size(); ++half) {
    std::vector<int64_t> values;
    for (const Halves& one : halves) values.push_back(one[half]);
    usual[half] = lower_median(values);
  }
  return usual;
}

/// How long each call takes a rank in the middle.
Times usual_times(const std::vector<Times>& ranks) {
  Times usual = ranks.front();
  std::vector<int64_t> values(ranks.size());
  for (auto& [name, durations] : usual) {
    for (size_t call = 0; call < durations.size(); ++call) {
      for (size_t i = 0; i < ranks.size(); ++i) values[i] = ranks[i].at(name)[call];
      durations[call] = lower_median(values);
    }
  }
  return usual;
}

bool takes_longer(int64_t own_ns, int64_t others_ns) {
  return static_cast<double>(own_ns) > kSlower * static_cast<double>(others_ns);
}

/// By how much a rank's calls differ from the usual ones when these are stretched, each kernel by
/// its own factor, to the rank's sum: sum of the absolute differences.
double unlike_ns(const Times& own, const Times& usual) {
  double sum = 0;
  for (const auto& [name, durations] : own) {
    const std::vector<int64_t>& others = usual.at(name);
    const auto others_ns = static_cast<double>(sum_of(others));
    const double pace = others_ns > 0 ? static_cast<double>(sum_of(durations)) / others_ns : 0;
    for (size_t i = 0; i < durations.size(); ++i)
      sum += std::abs(static_cast<double>(durations[i]) - pace * static_cast<double>(others[i]));
  }
  return sum;
}

/// Of ranks with the same work, the slow ones.
void add_slow(const std::vector<run::RankTrace>& ranks, const Calls& calls,
              const std::vector<size_t>& alike, std::vector<SlowRank>& slow) {
  std::vector<Times> times;
  std::vector<Halves> halves;
  for (const size_t trace : alike) {
    times.push_back(times_of(ranks[trace], calls));
    halves.push_back(halves_of(times.back()));
  }
  const Halves usual = usual_halves(halves);
  if (usual[0] <= 0 || usual[1] <= 0) return;
  const auto total = [](const Halves& of) {
    return static_cast<double>(of[0]) + static_cast<double>(of[1]);
  };
  Times of_calls;
  for (size_t i = 0; i < alike.size(); ++i) {
    const Halves& own = halves[i];
    if (!takes_longer(own[0], usual[0]) || !takes_longer(own[1], usual[1])) continue;
    if (of_calls.empty()) of_calls = usual_times(times);
    if (unlike_ns(times[i], of_calls) > kMostUnlike * (total(own) - total(usual))) continue;
    slow.push_back({alike[i], ranks[alike[i]].rank, total(own) / total(usual)});
  }
}

bool has_twice(const std::vector<run::RankTrace>& ranks) {
  std::set<int64_t> seen;
  return !std::ranges::all_of(
      ranks, [&](const run::RankTrace& trace) { return seen.insert(trace.rank).second; });
}

/// Whether a rank has as many more tokens for its experts as it takes longer.
bool has_more_tokens(const SlowRank& slow, const ExchangeLoads& exchanges) {
  const auto found = std::ranges::find(exchanges.ranks, slow.rank, &ExchangeLoads::OfRank::rank);
  return found != exchanges.ranks.end() && found->load >= slow.times;
}

}  // namespace

SlowRanks find_slow_ranks(const std::vector<run::RankTrace>& ranks, const ExchangeLoads& exchanges,
                          const EventGraph& graph, const run::DeviceLog& log) {
  SlowRanks result;
  if (has_twice(ranks)) return result;
  std::map<Calls, std::vector<size_t>> by_work;
  for (size_t trace = 0; trace < ranks.size(); ++trace)
    by_work[calls_of(ranks[trace])].push_back(trace);
  for (const auto& [calls, alike] : by_work)
    if (alike.size() > 1) add_slow(ranks, calls, alike, result.ranks);
  std::erase_if(result.ranks,
                [&](const SlowRank& slow) { return has_more_tokens(slow, exchanges); });
  if (result.ranks.empty()) return result;
  std::ranges::sort(result.ranks, {}, &SlowRank::trace);
  Replay replay{.shares = std::vector<double>(ranks.size(), 1)};
  for (SlowRank& slow : result.ranks) {
    replay.shares[slow.trace] = 1 / slow.times;
    slow.condition = gpu_condition(log, ranks[slow.trace]);
  }
  result.saved_if_equal_ns =
      std::max<int64_t>(0, replayed_span(graph, {}) - replayed_span(graph, replay));
  return result;
}

}  // namespace ergometer::analysis
