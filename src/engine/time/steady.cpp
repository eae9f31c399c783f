#include "engine/time/steady.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace ergometer::engine {
namespace {

/// What rounding leaves of two equal differences of times, relative to the times.
constexpr double kRounding = 1e-12;

double rounding_s(double time_s) { return kRounding * (1 + std::abs(time_s)); }

}  // namespace

std::array<uint32_t, workload::kStreamCount> joined_streams(const plan::Role& role) {
  std::array<uint32_t, workload::kStreamCount> joined{};
  for (size_t i = role.periods[1]; i < role.periods[2]; ++i) {
    const plan::Instruction& it = role.program[i];
    if (it.kind == plan::InstructionKind::kJoin)
      joined[static_cast<size_t>(it.stream)] |= 1U << static_cast<unsigned>(it.on);
  }
  return joined;
}

void SteadyPhase::mark(std::vector<MovedTimes> times) {
  ERGOMETER_CHECK(taken_ < marks_.size(), "a folded plan has three marks");
  std::vector<std::vector<double>>& values = marks_[taken_++];
  for (const MovedTimes& it : times) values.emplace_back(it.values.begin(), it.values.end());
  times_ = std::move(times);
}

bool SteadyPhase::is_linear(size_t index) const {
  const std::vector<double>&first = marks_[0][index], &second = marks_[1][index],
        &third = marks_[2][index];
  if (first.size() != second.size() || second.size() != third.size()) return false;
  for (size_t i = 0; i < first.size(); ++i)
    if (std::abs(third[i] - 2 * second[i] + first[i]) > rounding_s(third[i])) return false;
  return true;
}

bool SteadyPhase::stays_behind(int64_t periods, size_t awaited, size_t stream) const {
  const size_t ranks = marks_[2][stream].size(), one = marks_[2][awaited].size();
  const auto more = static_cast<double>(periods);
  for (size_t i = 0; i < ranks; ++i) {
    const size_t k = one == 1 ? 0 : i;
    const double stream_s = moved_s(stream, i), awaited_s = moved_s(awaited, k);
    if (stream_s <= 0 || awaited_s <= stream_s + rounding_s(marks_[2][stream][i])) continue;
    if (marks_[2][awaited][k] + more * awaited_s > marks_[1][stream][i] + more * stream_s)
      return false;
  }
  return true;
}

bool SteadyPhase::can_leave_out(int64_t periods) const {
  ERGOMETER_CHECK(taken_ == marks_.size(), "a folded plan has three marks");
  for (const auto& mark : marks_)
    if (mark.size() != times_.size()) return false;
  for (size_t index = 0; index < times_.size(); ++index)
    if (!is_linear(index)) return false;
  for (size_t stream = 0; stream < times_.size(); ++stream)
    for (size_t other = 0; other < times_.size(); ++other) {
      if (may_wait_for(stream, other) && !stays_behind(periods, other, stream)) return false;
      if (exchange_messages(stream, other) && !keep_pace(stream, other)) return false;
    }
  return true;
}

bool SteadyPhase::may_wait_for(size_t stream, size_t other) const {
  const MovedTimes &it = times_[stream], &awaited = times_[other];
  if (it.kind != MovedTimes::Kind::kStream || it.role != awaited.role || stream == other)
    return false;
  if (awaited.kind == MovedTimes::Kind::kStream) return (it.joined >> awaited.stream & 1U) != 0;
  return awaited.kind == MovedTimes::Kind::kAwaited;
}

/// Compute streams of two roles, which stand for what they send.
bool SteadyPhase::exchange_messages(size_t a, size_t b) const {
  const auto computes = [&](size_t index) {
    return times_[index].kind == MovedTimes::Kind::kStream && times_[index].stream == 0;
  };
  return times_[a].role < times_[b].role && computes(a) && computes(b);
}

bool SteadyPhase::keep_pace(size_t a, size_t b) const {
  for (size_t i = 0; i < marks_[2][a].size(); ++i)
    if (std::abs(moved_s(a, i) - moved_s(b, i)) > rounding_s(marks_[2][a][i])) return false;
  return true;
}

void SteadyPhase::leave_out(int64_t periods, double frame_s) const {
  for (size_t index = 0; index < times_.size(); ++index) {
    const double frame = times_[index].kind == MovedTimes::Kind::kSum ? 0 : frame_s;
    for (size_t i = 0; i < times_[index].values.size(); ++i)
      times_[index].values[i] += static_cast<double>(periods) * (moved_s(index, i) - frame);
  }
}

double SteadyPhase::period_s() const {
  double longest_s = 0;
  for (size_t index = 0; index < times_.size(); ++index)
    if (times_[index].kind == MovedTimes::Kind::kStream)
      for (size_t i = 0; i < times_[index].values.size(); ++i)
        longest_s = std::max(longest_s, moved_s(index, i));
  return longest_s;
}

bool SteadyPhase::has_one_pace() const {
  const double period_s = this->period_s();
  for (size_t index = 0; index < times_.size(); ++index)
    if (times_[index].kind == MovedTimes::Kind::kStream)
      for (size_t i = 0; i < times_[index].values.size(); ++i) {
        const double moved = moved_s(index, i);
        if (moved > 0 && period_s - moved > rounding_s(marks_[2][index][i])) return false;
      }
  return true;
}

}  // namespace ergometer::engine
