#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace ergometer::engine {

/// Times of a play that a period of the pipeline's steady phase moves on, one a rank of a role or
/// one for all of them.
struct MovedTimes {
  enum class Kind : uint8_t {
    kStream,   ///< when a stream is free
    kAwaited,  ///< what streams wait for: the host, events, messages
    kSum       ///< what is only added up
  };
  Kind kind = Kind::kSum;
  size_t role = 0;  ///< whose they are; of messages: who receives them
  std::span<double> values;
  int stream = 0;       ///< of a stream: its number
  uint32_t joined = 0;  ///< of a stream: those, by bit, that it waits for in a period
};

/// For every stream of a role, those that it joins in a period of a folded plan.
std::array<uint32_t, workload::kStreamCount> joined_streams(const plan::Role& role);

/// What a play of a folded plan (plan/folded.h) knows at its three marks. Max-plus sequences become
/// periodic: at some point every period moves every time on by the same. From there on periods can
/// be left out, exactly, if no maximum gets another winner in them. That is sure where none of what
/// a stream waits for moves on faster than the stream itself, and where it does (a host that is
/// slower than the GPU and lives on its lead), if even at the end of the last period left out it is
/// behind where the stream was at its begin. For a period takes the times at its begin to those at
/// its end by sums and maxima alone: with the same winners it adds the same. Roles send messages
/// both ways, so that all of them must have come to one pace.
class SteadyPhase {
 public:
  /// The next mark. The same times in the same order at each; those of the third one are kept, to
  /// be moved on.
  void mark(std::vector<MovedTimes> times);
  /// At the third mark: whether so many periods can be left out.
  bool can_leave_out(int64_t periods) const;
  /// Moves times on by so many periods, less `frame_s` a period for all but sums: what follows is
  /// then seen that much earlier. With `frame_s` the period, streams stay where they are, and a
  /// host that is ahead, or a stream that stands still, falls back by what it does not move.
  void leave_out(int64_t periods, double frame_s) const;
  /// How far the slowest stream got in the last period.
  double period_s() const;
  /// Whether every stream that did anything in the last period got equally far.
  bool has_one_pace() const;

 private:
  double moved_s(size_t index, size_t i) const { return marks_[2][index][i] - marks_[1][index][i]; }
  bool is_linear(size_t index) const;
  bool may_wait_for(size_t stream, size_t other) const;
  bool exchange_messages(size_t a, size_t b) const;
  bool keep_pace(size_t a, size_t b) const;
  bool stays_behind(int64_t periods, size_t awaited, size_t stream) const;

  std::array<std::vector<std::vector<double>>, 3> marks_;
  std::vector<MovedTimes> times_;
  size_t taken_ = 0;
};

}  // namespace ergometer::engine
