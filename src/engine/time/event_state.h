#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <tuple>
#include <vector>

#include "engine/time/timeline.h"

/// What the event engine (`events.cpp`) keeps of a simulation under way.
namespace ergometer::engine {

using Picoseconds = int64_t;
inline constexpr double kPicosecondsPerSecond = 1e12;

inline double seconds(Picoseconds time) {
  return static_cast<double>(time) / kPicosecondsPerSecond;
}

struct Event {
  Picoseconds time = 0;
  int64_t sequence = 0;
  int64_t rank = 0;
  int stream = 0;  ///< whose head instruction ends; kStreamCount: the host issues
  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.time, a.sequence) > std::tie(b.time, b.sequence);
  }
};
inline constexpr int kHost = workload::kStreamCount;

/// An instruction in a queue.
struct Entry {
  size_t index = 0;
  Picoseconds issued = 0;
  /// kJoin: entries of the other queue to wait for; kRecord, kWait: how many records came before,
  /// itself included; kWorld: which of the meetings of its kind.
  int64_t ticket = 0;
};

struct Queue {
  std::deque<Entry> entries;
  bool started = false;   ///< the head entry has begun: it runs, or waits for other ranks
  Picoseconds start = 0;  ///< when it began
  Picoseconds free = 0;   ///< end of the last entry that is done
  int64_t issued = 0, done = 0;
};

/// The records made on one event slot, in issue order: when each happened, or that it has not yet.
inline constexpr Picoseconds kNotYet = -1;
using EventSlot = std::vector<Picoseconds>;

struct RankProcess {
  size_t role = 0;
  int64_t index = 0;  ///< in the role
  double inverse_clock = 1;
  size_t next = 0;  ///< instruction the host issues next
  Picoseconds host = 0;
  bool host_waits = false;
  std::array<Queue, workload::kStreamCount> queues;
  std::vector<EventSlot> slots;
  std::array<int64_t, 2> meetings{};  ///< issued: world, embedding
  std::array<Picoseconds, kPartCount> parts{};
  Picoseconds end = 0;
  Picoseconds host_gaps = 0;
  bool sampled = false;
  std::vector<Span> spans;
};

/// A message on its way: sent or awaited.
struct Message {
  bool sent = false;
  int64_t receiver = -1;
  int stream = 0;
};

/// One run of one collective: its ranks wait until all of them have come to it.
struct GroupCall {
  workload::GroupKind kind = workload::GroupKind::kTensor;
  int64_t role = -1;   ///< -1: the group spans roles
  int64_t leader = 0;  ///< its rank of the lowest index in the role
  int64_t number = 0;  ///< within a role the instruction; else which meeting of the kind
  auto operator<=>(const GroupCall&) const = default;
};
/// A rank that waits, and the stream whose head instruction does.
struct Waiting {
  int64_t rank = 0;
  int stream = 0;
};

/// Of the ranks of one index, who have arrived at a gathering of roles, and who wait there.
struct Gathering {
  int32_t arrived = 0;
  std::vector<Waiting> waiting;
};

}  // namespace ergometer::engine
