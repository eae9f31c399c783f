#include "analysis/ranks/stragglers.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/math/intervals.h"
#include "analysis/math/sum.h"
#include "analysis/ranks/arrivals.h"
#include "analysis/ranks/collectives.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kMostOfAll = 0.5;

/// How much of any stretch of time is covered by intervals.
class Coverage {
 public:
  explicit Coverage(Intervals intervals) : intervals_(std::move(intervals)) {
    before_.push_back(0);
    for (const Interval& i : intervals_) before_.push_back(before_.back() + i.end_ns - i.start_ns);
  }
  int64_t within(int64_t from, int64_t to) const { return to > from ? until(to) - until(from) : 0; }
  /// Where the longest time without cover begins.
  int64_t longest_gap(int64_t from, int64_t to) const;

 private:
  int64_t until(int64_t time) const {
    const auto at = std::upper_bound(intervals_.begin(), intervals_.end(), time,
                                     [](int64_t t, const Interval& i) { return t < i.start_ns; });
    const auto index = static_cast<size_t>(at - intervals_.begin());
    if (index == 0) return 0;
    const Interval& last = intervals_[index - 1];
    return before_[index] - std::max<int64_t>(last.end_ns - time, 0);
  }
  Intervals intervals_;
  std::vector<int64_t> before_;  ///< covered before each interval
};

int64_t Coverage::longest_gap(int64_t from, int64_t to) const {
  auto at = std::ranges::upper_bound(intervals_, from, {}, &Interval::end_ns);
  int64_t begin = from, longest = -1, found = from;
  for (; begin < to; ++at) {
    const int64_t end = at == intervals_.end() ? to : std::min(at->start_ns, to);
    if (end - begin > longest) {
      longest = end - begin;
      found = begin;
    }
    if (at == intervals_.end()) break;
    begin = at->end_ns;
  }
  return found;
}

/// What a rank did between its collectives.
struct RankActivity {
  Coverage compute, busy;
  std::vector<int64_t> ends;  ///< of its matched collectives, in order
};

std::vector<RankActivity> activities(const std::vector<run::RankTrace>& ranks,
                                     const MatchedCollectives& collectives) {
  std::vector<RankActivity> all;
  for (const run::RankTrace& trace : ranks) {
    std::vector<Interval> compute, busy;
    for (const run::GpuEvent& event : trace.events) {
      busy.push_back({event.start_ns, event.end_ns()});
      if (event.kind == run::GpuClass::kCompute) compute.push_back(busy.back());
    }
    all.push_back({Coverage(unite(std::move(compute))), Coverage(unite(std::move(busy))), {}});
  }
  for (const CollectiveInstance& one : collectives.instances)
    for (const auto& [trace, event] : one.calls)
      all[trace].ends.push_back(ranks[trace].events[event].end_ns());
  for (RankActivity& activity : all) std::ranges::sort(activity.ends);
  return all;
}

/// The time before one rank joined a collective.
struct Approach {
  int64_t since_ns = 0;  ///< common clock: end of the collective before
  int64_t compute_ns = 0, idle_ns = 0;
  int64_t idle_from_ns = 0;  ///< common clock: begin of its longest time without work
};

struct Met {
  const CollectiveInstance* one = nullptr;
  Meeting meeting;
  bool skewed = false;
};

class GroupStudy {
 public:
  GroupStudy(const std::vector<run::RankTrace>& ranks, const ClockTable& clocks,
             const std::vector<RankActivity>& activity, std::vector<Met> met)
      : ranks_(ranks), clocks_(clocks), activity_(activity), met_(std::move(met)) {}
  void fill(GroupSkew& skew);
  /// Of the traces; the straggler's.
  size_t straggler() const { return straggler_; }

 private:
  int64_t waiting(const Met& met) const;
  /// The trace that most waiting among some collectives is done for; none when that is not enough.
  struct Latecomer {
    size_t trace = 0;
    bool mostly_last = false;
  };
  std::optional<Latecomer> main_latecomer(size_t from, size_t to) const;
  void find_latecomer(GroupSkew& skew);
  void find_cause(GroupSkew& skew) const;
  std::optional<Approach> approach(const CollectiveCall& call) const;
  void find_paces(GroupSkew& skew) const;
  void compare_transfers(GroupSkew& skew) const;
  size_t latest(const Met& met) const { return met.one->calls[met.meeting.latest].trace; }
  const run::GpuEvent& event(const CollectiveCall& call) const {
    return ranks_[call.trace].events[call.event];
  }

  const std::vector<run::RankTrace>& ranks_;
  const ClockTable& clocks_;
  const std::vector<RankActivity>& activity_;
  std::vector<Met> met_;  ///< in order of time
  size_t straggler_ = 0;
};

int64_t GroupStudy::waiting(const Met& met) const {
  int64_t sum = 0;
  for (const CollectiveCall& call : met.one->calls)
    add_time(sum, met.meeting.last_ns - clocks_.common_ns(call.trace, event(call).start_ns));
  return sum;
}

std::optional<GroupStudy::Latecomer> GroupStudy::main_latecomer(size_t from, size_t to) const {
  std::map<size_t, std::pair<int64_t, double>> by_trace;  // times last, waiting caused
  int64_t count = 0;
  double all = 0;
  for (size_t i = from; i < to; ++i) {
    if (!met_[i].skewed) continue;
    const auto caused = static_cast<double>(waiting(met_[i]));
    ++count;
    all += caused;
    auto& [times, sum] = by_trace[latest(met_[i])];
    ++times;
    sum += caused;
  }
  for (const auto& [trace, of_trace] : by_trace)
    if (of_trace.second > kMostOfAll * all)
      return Latecomer{
          trace, static_cast<double>(of_trace.first) > kMostOfAll * static_cast<double>(count)};
  return std::nullopt;
}

void GroupStudy::find_latecomer(GroupSkew& skew) {
  const auto late = main_latecomer(0, met_.size());
  if (!late) {
    skew.verdict = GroupVerdict::kMovingStraggler;
    return;
  }
  skew.verdict = GroupVerdict::kStraggler;
  straggler_ = late->trace;
  skew.rank = ranks_[straggler_].rank;
  const auto always = [&](size_t from, size_t to) {
    const auto of_part = main_latecomer(from, to);
    return of_part && of_part->trace == straggler_ && of_part->mostly_last;
  };
  skew.persistent = always(0, met_.size() / 2) && always(met_.size() / 2, met_.size());
  int64_t times = 0;
  for (const Met& met : met_) {
    if (!met.skewed || latest(met) != straggler_) continue;
    ++times;
    add_time(skew.caused_waiting_ns, waiting(met));
  }
  skew.last_share = static_cast<double>(times) / static_cast<double>(skew.skewed);
  find_cause(skew);
}

std::optional<Approach> GroupStudy::approach(const CollectiveCall& call) const {
  const RankActivity& activity = activity_[call.trace];
  const int64_t start = event(call).start_ns;
  const auto after = std::ranges::upper_bound(activity.ends, start);
  if (after == activity.ends.begin()) return std::nullopt;
  const int64_t since = *(after - 1);
  return Approach{clocks_.common_ns(call.trace, since), activity.compute.within(since, start),
                  start - since - activity.busy.within(since, start),
                  clocks_.common_ns(call.trace, activity.busy.longest_gap(since, start))};
}

void GroupStudy::find_paces(GroupSkew& skew) const {
  std::map<size_t, int64_t> since;  // of every trace, where the collective before began
  int64_t from_ns = INT64_MIN;
  for (const Met& met : met_) {
    const std::vector<CollectiveCall>& calls = met.one->calls;
    const auto joined = std::ranges::find(calls, straggler_, &CollectiveCall::trace);
    if (joined == calls.end()) continue;
    std::vector<int64_t> others;
    int64_t own = 0;
    for (const CollectiveCall& call : calls) {
      const int64_t start = event(call).start_ns;
      int64_t& from = since.try_emplace(call.trace, INT64_MIN).first->second;
      const int64_t compute =
          activity_[call.trace].compute.within(std::exchange(from, start), start);
      if (call.trace == straggler_) {
        own = compute;
      } else {
        others.push_back(compute);
      }
    }
    const double share =
        own > 0 && !others.empty()
            ? static_cast<double>(base::upper_median(std::move(others))) / static_cast<double>(own)
            : 1;
    skew.paces.push_back({from_ns, share});
    from_ns = std::max(from_ns, clocks_.common_ns(straggler_, event(*joined).start_ns));
  }
  skew.paces.push_back({from_ns, 1});  // where traces end tells nothing
}

void GroupStudy::find_cause(GroupSkew& skew) const {
  for (const Met& met : met_) {
    if (!met.skewed || latest(met) != straggler_) continue;
    const auto own = approach(met.one->calls[met.meeting.latest]);
    std::vector<int64_t> since, compute, idle;
    for (const CollectiveCall& call : met.one->calls) {
      const auto other = call.trace == straggler_ ? std::nullopt : approach(call);
      if (!other) continue;
      since.push_back(other->since_ns);
      compute.push_back(other->compute_ns);
      idle.push_back(other->idle_ns);
    }
    if (!own || since.empty()) continue;
    ++skew.compared;
    add_time(skew.inherited_ns, own->since_ns - base::upper_median(since));
    add_time(skew.more_compute_ns, own->compute_ns - base::upper_median(compute));
    const int64_t more_idle = own->idle_ns - base::upper_median(idle);
    add_time(skew.more_idle_ns, more_idle);
    if (more_idle > 0) {
      const Lead before = skew.leads.empty() ? Lead{} : skew.leads.back();
      skew.leads.push_back({std::max(before.from_ns, own->idle_from_ns), before.sooner_ns});
      add_time(skew.leads.back().sooner_ns, more_idle);
    }
  }
  find_paces(skew);
  const int64_t most = std::max({skew.inherited_ns, skew.more_compute_ns, skew.more_idle_ns});
  if (most <= 0) return;
  skew.cause = most == skew.more_compute_ns ? LateCause::kCompute
               : most == skew.more_idle_ns  ? LateCause::kLaunch
                                            : LateCause::kInherited;
}

/// Transfers of one kind and size take equally long, unless a link is slow.
void GroupStudy::compare_transfers(GroupSkew& skew) const {
  constexpr size_t kFewest = 4;
  constexpr size_t kFastest = 10;  // the fastest tenth
  std::map<std::tuple<CollectiveKind, int64_t, int64_t, std::string>, std::vector<int64_t>> alike;
  double bus_bytes = 0, known_ns = 0;
  for (const Met& met : met_) {
    const int64_t transfer = met.meeting.end_ns - met.meeting.last_ns;
    const CollectiveCall& call = met.one->calls.front();
    const run::Collective& known = collective_of(ranks_[call.trace], event(call));
    if (transfer <= 0 || known.in_elements < 0) continue;
    alike[{met.one->kind, known.in_elements, known.out_elements, known.dtype}].push_back(transfer);
    const auto bytes = collective_bytes(known, met.one->kind);
    if (!bytes) continue;
    const double on_bus = *bytes * bus_factor(met.one->kind, known.group_size);
    bus_bytes += on_bus;
    known_ns += static_cast<double>(transfer);
    skew.best_bus_gb_per_s =
        std::max(skew.best_bus_gb_per_s, on_bus / static_cast<double>(transfer));
  }
  if (known_ns > 0) skew.mean_bus_gb_per_s = bus_bytes / known_ns;
  double taken = 0, best = 0;
  for (auto& [key, transfers] : alike) {
    if (transfers.size() < kFewest) continue;
    std::ranges::sort(transfers);
    const auto fast = static_cast<double>(transfers[transfers.size() / kFastest]);
    for (const int64_t transfer : transfers) taken += static_cast<double>(transfer);
    best += fast * static_cast<double>(transfers.size());
  }
  if (best > 0) skew.slowdown = taken / best;
}

void GroupStudy::fill(GroupSkew& skew) {
  constexpr double kSlow = 2;
  for (const Met& met : met_) {
    ++skew.collectives;
    if (met.skewed) ++skew.skewed;
    add_time(skew.waiting_ns, waiting(met));
    add_time(skew.transfer_ns, std::max<int64_t>(met.meeting.end_ns - met.meeting.last_ns, 0));
  }
  compare_transfers(skew);
  const auto in_transfers =
      static_cast<double>(skew.transfer_ns) * static_cast<double>(skew.members.size());
  if (skew.slowdown >= kSlow && in_transfers > static_cast<double>(skew.waiting_ns)) {
    skew.verdict = GroupVerdict::kCongested;
  } else if (skew.skewed > 0 && static_cast<double>(skew.waiting_ns) > in_transfers) {
    find_latecomer(skew);
  }
}

/// Ranks of a collective end together, but for noise and what is left of their clocks' difference.
int64_t end_spread(const std::vector<run::RankTrace>& ranks, const ClockTable& clocks,
                   const CollectiveInstance& one) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (const auto& [trace, event] : one.calls) {
    const int64_t end = clocks.common_ns(trace, ranks[trace].events[event].end_ns());
    first = std::min(first, end);
    last = std::max(last, end);
  }
  return last - first;
}

void mark_skewed(const std::vector<run::RankTrace>& ranks, const ClockTable& clocks,
                 std::vector<Met>& met) {
  constexpr int64_t kTogether = 5'000;  // ns, assumed: kernels of ranks that waited for no one
  std::vector<int64_t> spreads =
      base::mapped(met, [&](const Met& it) { return end_spread(ranks, clocks, *it.one); });
  const int64_t apart = std::max(kTogether, 2 * base::upper_median(std::move(spreads)));
  for (Met& one : met) one.skewed = one.meeting.last_ns - one.meeting.first_ns > apart;
}

/// By group, in order of time.
std::map<GroupKey, std::vector<Met>> by_group(const std::vector<run::RankTrace>& ranks,
                                              const MatchedCollectives& collectives,
                                              const ClockTable& clocks) {
  std::map<GroupKey, std::vector<Met>> groups;
  for (const CollectiveInstance& one : collectives.instances) {
    // A message's receiver waits by the nature of a pipeline, whose bubbles are told elsewhere.
    if (one.message) continue;
    const CollectiveCall& call = one.calls.front();
    const run::Collective& known =
        collective_of(ranks[call.trace], ranks[call.trace].events[call.event]);
    groups[{known.group, known.description}].push_back(
        {&one, meeting_of(ranks, one, clocks), false});
  }
  for (auto& [key, met] : groups) {
    std::ranges::stable_sort(
        met, [](const Met& a, const Met& b) { return a.meeting.last_ns < b.meeting.last_ns; });
    mark_skewed(ranks, clocks, met);
  }
  return groups;
}

std::vector<int64_t> members_of(const std::vector<run::RankTrace>& ranks,
                                const std::vector<Met>& met) {
  std::set<int64_t> members;
  for (const Met& one : met)
    for (const CollectiveCall& call : one.one->calls) members.insert(ranks[call.trace].rank);
  return {members.begin(), members.end()};
}

}  // namespace

std::string_view to_word(GroupVerdict verdict) {
  switch (verdict) {
    case GroupVerdict::kStraggler: return "straggler";
    case GroupVerdict::kMovingStraggler: return "moving_straggler";
    case GroupVerdict::kCongested: return "congested";
    case GroupVerdict::kBalanced: break;
  }
  return "balanced";
}

std::string_view to_word(LateCause cause) {
  switch (cause) {
    case LateCause::kCompute: return "compute";
    case LateCause::kLaunch: return "launch";
    case LateCause::kInherited: return "inherited";
    case LateCause::kUnknown: break;
  }
  return "unknown";
}

std::vector<GroupSkew> find_stragglers(const std::vector<run::RankTrace>& ranks,
                                       const MatchedCollectives& collectives,
                                       const ClockTable& clocks, const GroupLabels& labels,
                                       const run::DeviceLog& log) {
  const std::vector<RankActivity> activity = activities(ranks, collectives);
  std::vector<GroupSkew> skews;
  for (auto& [key, met] : by_group(ranks, collectives, clocks)) {
    if (met.size() < 2) continue;
    GroupSkew skew;
    skew.group = key.first;
    skew.description = key.second;
    if (const auto label = labels.find(key); label != labels.end())
      skew.parallelism = label->second;
    skew.members = members_of(ranks, met);
    const CollectiveCall& call = met.front().one->calls.front();
    skew.size = collective_of(ranks[call.trace], ranks[call.trace].events[call.event]).group_size;
    GroupStudy study(ranks, clocks, activity, met);
    study.fill(skew);
    if (skew.verdict == GroupVerdict::kStraggler)
      skew.condition = gpu_condition(log, ranks[study.straggler()]);
    skews.push_back(std::move(skew));
  }
  std::ranges::stable_sort(skews, [](const auto& a, const auto& b) {
    return a.waiting_ns + a.transfer_ns > b.waiting_ns + b.transfer_ns;
  });
  return skews;
}

}  // namespace ergometer::analysis
