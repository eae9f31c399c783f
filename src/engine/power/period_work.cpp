#include "engine/power/period_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace ergometer::engine {

void PeriodWork::add(double begin_s, double end_s, const SliceWork& work) {
  at_s_.push_back(begin_s);
  if (end_s > begin_s) {
    const SliceWork per_s = (1 / (end_s - begin_s)) * work;
    corners_.push_back({.done = {}, .per_s = per_s, .running = 1});
    at_s_.push_back(end_s);
    corners_.push_back({.done = {}, .per_s = -1 * per_s, .running = -1});
  } else {
    corners_.push_back({.done = work, .per_s = {}, .running = 0});
  }
}

void PeriodWork::close() {
  if (corners_.empty()) return;
  std::vector<std::pair<double, size_t>> order;  // corners are large: only their places are sorted
  for (size_t i = 0; i < at_s_.size(); ++i) order.emplace_back(at_s_[i], i);
  std::ranges::sort(order);
  const std::vector<Corner> added = std::exchange(corners_, {});
  for (size_t i = 0; i < order.size(); ++i) {
    at_s_[i] = order[i].first;
    Corner& corner = corners_.emplace_back(added[order[i].second]);
    if (i == 0) continue;
    const Corner& before = corners_[i - 1];
    corner.done += before.done;
    corner.done += (at_s_[i] - at_s_[i - 1]) * before.per_s;
    corner.per_s += before.per_s;
    corner.running += before.running;
    if (corner.running == 0) corner.per_s = {};  // what rounding leaves
  }
  const double length_s = at_s_.back() - at_s_.front();
  before_.assign(corners_.size(), 0);
  stretches_per_s_ = length_s > 0 ? static_cast<double>(corners_.size()) / length_s : 0;
  for (const double at_s : at_s_)
    if (const size_t next = stretch_of(at_s) + 1; next < before_.size()) ++before_[next];
  std::partial_sum(before_.begin(), before_.end(), before_.begin());
}

/// Later times never lie in earlier stretches, however numbers are rounded.
size_t PeriodWork::stretch_of(double time_s) const {
  const double stretch = (time_s - at_s_.front()) * stretches_per_s_;
  return static_cast<size_t>(std::clamp(stretch, 0.0, static_cast<double>(corners_.size() - 1)));
}

SliceWork PeriodWork::until(double time_s) const {
  if (time_s < at_s_.front()) return {};
  size_t after = before_[stretch_of(time_s)];
  while (after < at_s_.size() && at_s_[after] <= time_s) ++after;
  SliceWork done = corners_[after - 1].done;
  done += (time_s - at_s_[after - 1]) * corners_[after - 1].per_s;
  return done;
}

SliceWork PeriodWork::between(double from_s, double to_s, int64_t first, int64_t last,
                              double period_s) const {
  SliceWork sum;
  if (corners_.empty()) return sum;
  ERGOMETER_CHECK(period_s > 0, "periods follow one another");
  // Period k touches the stretch if it ends behind its begin and begins before its end.
  const auto ended = std::floor((from_s - at_s_.back()) / period_s);
  const auto begun = std::ceil((to_s - at_s_.front()) / period_s);
  first = std::max(first, static_cast<int64_t>(std::max(ended, -1.0)));
  last = std::min(last, static_cast<int64_t>(std::max(begun, -1.0)));
  for (int64_t k = first; k <= last; ++k) {
    const double shift_s = static_cast<double>(k) * period_s;
    sum += until(to_s - shift_s);
    sum += -1 * until(from_s - shift_s);
  }
  return sum;
}

}  // namespace ergometer::engine
