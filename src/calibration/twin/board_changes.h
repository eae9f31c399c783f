#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/twin/board_history.h"

namespace ergometer::calibration::twin {

/// What of a board or of a node's air is not as it was when a plan was made.
enum class Unlike : uint8_t { kReplaced, kTemperature, kClock, kHeldBack, kLimit, kInlet };
std::string_view to_word(Unlike what);  ///< "replaced", "temperature", "clock", "held_back", ...

struct BoardChange {
  std::string host;
  int64_t gpu = -1;  ///< -1: the node's air
  Unlike what = Unlike::kTemperature;
  double before = 0, now = 0;  ///< C, MHz, share of time, W; of one replaced nothing
  int64_t since_ns = 0;

  /// "b gpu 6: 12.3 K hotter, 56.1 -> 68.4 C"
  std::string text() const;
  std::string_view unit() const;
};

/// Holds what boards read to what they read when the plan was made, and says what changed and stays
/// so.
///
/// Means over the last minute count as changed from 3 K of a die, 2 K of a node's inlet, 3 % of a
/// clock, a tenth of the time held back by heat or supply, and 1 % of a power limit on: what loads
/// differ by, assumed. Stretches in which the job rests, its median GPU below 70 % of its power
/// then (assumed), count for nothing and do not make a change last longer.
class BoardChanges {
 public:
  static constexpr int64_t kMinuteNs = 60'000'000'000;

  /// `persist_ns`: for how long a change has to stay.
  explicit BoardChanges(int64_t persist_ns) : persist_ns_(persist_ns) {}

  /// A plan was made of what was read between these times.
  void plan_made(const BoardHistory& history, int64_t from_ns, int64_t to_ns);
  /// Once for each stretch that ended. The changes, by host and GPU, where one of them stayed long
  /// enough: with all that are at least half as old. Else empty.
  std::vector<BoardChange> look(const BoardHistory& history, int64_t now_ns);
  /// Starts of the stretches since the plan in which the job rested.
  const std::deque<int64_t>& rests() const { return rests_; }

 private:
  using Means = std::array<std::optional<double>, BoardHistory::kQuantities>;
  using Key = std::pair<size_t, Unlike>;  ///< of a device

  bool rests(const BoardHistory& history, int64_t now_ns) const;
  void compare(const BoardHistory& history, size_t device, int64_t now_ns);
  void hold(const BoardHistory& history, size_t device, Unlike what, bool is_unlike, double before,
            double now, int64_t now_ns);

  int64_t persist_ns_;
  std::vector<Means> then_;  ///< by device
  std::map<Key, BoardChange> changes_;
  std::deque<int64_t> rests_;
};

}  // namespace ergometer::calibration::twin
