#include "engine/steady.h"

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
  for (size_t stream = 0; stream < times_.size(); ++stream) {
    if (times_[stream].kind != MovedTimes::Kind::kStream) continue;
    for (size_t other = 0; other < times_.size(); ++other)
      if (other != stream && times_[other].kind != MovedTimes::Kind::kSum &&
          times_[other].role == times_[stream].role && !stays_behind(periods, other, stream))
        return false;
  }
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
