#include "analysis/ranks/collective_match.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ranks/collectives.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

/// The calls of one kind and group on one rank, in order of time.
struct Side {
  size_t trace = 0;
  std::vector<size_t> events;
};
struct CallKey {
  CollectiveKind kind;
  std::string group;
  bool message = false;
  bool sends = false;  ///< of messages: the direction
  auto operator<=>(const CallKey&) const = default;
};
using Sides = std::map<CallKey, std::vector<Side>>;

class Matcher {
 public:
  explicit Matcher(const std::vector<run::RankTrace>& ranks) : ranks_(ranks) {}
  MatchedCollectives take();

 private:
  void add_calls(size_t trace);
  void match(const CallKey& key, const std::vector<Side>& sides);
  void match_messages(const CallKey& key, const std::vector<Side>& sends);
  bool match_by_sequence(const CallKey& key, const std::vector<Side>& sides);
  bool begins_like(const Side& cut, const Side& whole) const;
  void match_by_order(const CallKey& key, const std::vector<Side>& sides);
  void leave(const std::vector<Side>& sides);
  void add(const CallKey& key, std::vector<CollectiveCall> calls);
  const run::Collective& known(size_t trace, size_t event) const {
    return collective_of(ranks_[trace], ranks_[trace].events[event]);
  }
  int64_t group_size(const std::vector<Side>& sides) const {
    return known(sides.front().trace, sides.front().events.front()).group_size;
  }

  const std::vector<run::RankTrace>& ranks_;
  Sides sides_;
  MatchedCollectives found_;
};

/// NCCL's kernel is the same for a message and an all-to-all; PyTorch's name tells them apart.
bool is_message(const run::Collective& known, CollectiveKind kind) {
  return kind == CollectiveKind::kSendRecv && !known.name.empty();
}

void Matcher::add_calls(size_t trace) {
  const run::RankTrace& rank = ranks_[trace];
  std::map<CallKey, std::vector<size_t>> of_rank;
  for (size_t i = 0; i < rank.events.size(); ++i) {
    const run::GpuEvent& event = rank.events[i];
    if (event.kind != run::GpuClass::kCommunication) continue;
    const run::Collective& known = collective_of(rank, event);
    const CollectiveKind kind = kind_of(rank, event);
    const bool message = is_message(known, kind);
    of_rank[{kind, known.group, message, message && known.name.find("send") != std::string::npos}]
        .push_back(i);
  }
  for (auto& [key, events] : of_rank) {
    std::ranges::stable_sort(events, [&](size_t a, size_t b) {
      return rank.events[a].start_ns < rank.events[b].start_ns;
    });
    sides_[key].push_back({trace, std::move(events)});
  }
}

void Matcher::leave(const std::vector<Side>& sides) {
  for (const Side& side : sides) found_.unmatched += static_cast<int64_t>(side.events.size());
}

void Matcher::add(const CallKey& key, std::vector<CollectiveCall> calls) {
  std::ranges::sort(calls, [](const auto& a, const auto& b) { return a.trace < b.trace; });
  found_.instances.push_back({key.kind, key.group, key.message, std::move(calls)});
}

/// False, and nothing done, when a call has no number.
bool Matcher::match_by_sequence(const CallKey& key, const std::vector<Side>& sides) {
  std::map<int64_t, std::vector<CollectiveCall>> by_number;
  for (const Side& side : sides) {
    for (const size_t event : side.events) {
      const int64_t sequence = known(side.trace, event).sequence;
      if (sequence < 0) return false;
      auto& calls = by_number[sequence];
      // Several kernels of one number are one collective in pieces: the first one arrives.
      if (calls.empty() || calls.back().trace != side.trace) calls.push_back({side.trace, event});
    }
  }
  for (auto& [number, calls] : by_number) {
    if (calls.size() == sides.size()) {
      add(key, std::move(calls));
    } else {
      found_.unmatched += static_cast<int64_t>(calls.size());
    }
  }
  return true;
}

/// Whether the calls of a file that ends in the middle are the first ones of another rank: ends are
/// then as far apart everywhere, by what clocks differ, where a call that is lost in between would
/// move them by the time from call to call.
bool Matcher::begins_like(const Side& cut, const Side& whole) const {
  const auto end = [&](const Side& side, size_t i) {
    return static_cast<double>(ranks_[side.trace].events[side.events[i]].end_ns());
  };
  std::vector<double> apart, distances;
  for (size_t i = 0; i < cut.events.size(); ++i) {
    apart.push_back(end(cut, i) - end(whole, i));
    if (i > 0) distances.push_back(end(whole, i) - end(whole, i - 1));
  }
  if (distances.empty()) return false;
  const auto [least, most] = std::ranges::minmax(apart);
  return 2 * (most - least) < base::upper_median(std::move(distances));
}

void Matcher::match_by_order(const CallKey& key, const std::vector<Side>& sides) {
  const Side& whole =
      *std::ranges::max_element(sides, {}, [](const Side& side) { return side.events.size(); });
  size_t count = whole.events.size();
  for (const Side& side : sides) {
    if (side.events.size() == whole.events.size()) continue;
    if (!ranks_[side.trace].truncated || !begins_like(side, whole)) return leave(sides);
    count = std::min(count, side.events.size());
  }
  for (size_t i = 0; i < count; ++i) {
    std::vector<CollectiveCall> calls;
    for (const Side& side : sides) calls.push_back({side.trace, side.events[i]});
    add(key, std::move(calls));
  }
  for (const Side& side : sides)
    found_.unmatched += static_cast<int64_t>(side.events.size() - count);
}

void Matcher::match_messages(const CallKey& key, const std::vector<Side>& sends) {
  CallKey other = key;
  other.sends = false;
  const auto found = sides_.find(other);
  std::vector<Side> receives = found == sides_.end() ? std::vector<Side>() : found->second;
  const bool pair = !key.group.empty() && group_size(sends) == 2;
  for (const Side& send : sends) {
    const auto partner = std::ranges::find_if(receives, [&](const Side& side) {
      return side.trace != send.trace && side.events.size() == send.events.size();
    });
    if (!pair || sends.size() > 2 || partner == receives.end()) {
      leave({send});
      continue;
    }
    match_by_order(key, {send, *partner});
    receives.erase(partner);
  }
  leave(receives);
}

void Matcher::match(const CallKey& key, const std::vector<Side>& sides) {
  if (key.message) {
    CallKey sending = key;
    sending.sends = true;
    if (key.sends) return match_messages(key, sides);
    if (sides_.find(sending) == sides_.end()) leave(sides);
    return;
  }
  const int64_t size = group_size(sides);
  const bool complete = sides.size() >= 2 && (!key.group.empty() || sides.size() == ranks_.size());
  const bool several = size > 0 && static_cast<int64_t>(sides.size()) > size;
  if (!complete || several) return leave(sides);
  if (!match_by_sequence(key, sides)) match_by_order(key, sides);
}

MatchedCollectives Matcher::take() {
  std::set<int64_t> numbers;
  for (const run::RankTrace& trace : ranks_) numbers.insert(trace.rank);
  if (ranks_.size() < 2 || numbers.size() < ranks_.size()) return {};
  for (size_t trace = 0; trace < ranks_.size(); ++trace) add_calls(trace);
  for (const auto& [key, sides] : sides_) match(key, sides);
  return std::move(found_);
}

}  // namespace

MatchedCollectives match_collectives(const std::vector<run::RankTrace>& ranks) {
  return Matcher(ranks).take();
}

}  // namespace ergometer::analysis
