#include "engine/power/period_work.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace ergometer::engine {

void PeriodWork::add(double begin_s, double end_s, const SliceWork& work) {
  if (end_s > begin_s) {
    const SliceWork per_s = (1 / (end_s - begin_s)) * work;
    corners_.push_back({.at_s = begin_s, .done = {}, .per_s = per_s, .running = 1});
    corners_.push_back({.at_s = end_s, .done = {}, .per_s = -1 * per_s, .running = -1});
  } else {
    corners_.push_back({.at_s = begin_s, .done = work, .per_s = {}, .running = 0});
  }
}

void PeriodWork::close() {
  std::ranges::stable_sort(corners_, {}, &Corner::at_s);
  for (size_t i = 1; i < corners_.size(); ++i) {
    const Corner& before = corners_[i - 1];
    Corner& corner = corners_[i];
    corner.done += before.done;
    corner.done += (corner.at_s - before.at_s) * before.per_s;
    corner.per_s += before.per_s;
    corner.running += before.running;
    if (corner.running == 0) corner.per_s = {};  // what rounding leaves
  }
}

SliceWork PeriodWork::until(double time_s) const {
  const auto after =
      std::upper_bound(corners_.begin(), corners_.end(), time_s,
                       [](double time, const Corner& corner) { return time < corner.at_s; });
  if (after == corners_.begin()) return {};
  const Corner& last = *(after - 1);
  SliceWork done = last.done;
  done += (time_s - last.at_s) * last.per_s;
  return done;
}

SliceWork PeriodWork::between(double from_s, double to_s, int64_t first, int64_t last,
                              double period_s) const {
  SliceWork sum;
  if (corners_.empty()) return sum;
  ERGOMETER_CHECK(period_s > 0, "periods follow one another");
  // Period k touches the stretch if it ends behind its begin and begins before its end.
  const auto ended = std::floor((from_s - corners_.back().at_s) / period_s);
  const auto begun = std::ceil((to_s - corners_.front().at_s) / period_s);
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
