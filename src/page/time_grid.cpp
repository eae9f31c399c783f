#include "page/time_grid.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"

namespace ergometer::page {
namespace {

/// Lines read one after the other, each at its own moment, have more times together than any alone.
constexpr double kCommon = 1.1;

bool earlier(const run::Sample& sample, int64_t time_ns) { return sample.time_ns < time_ns; }

}  // namespace

TimeGrid::TimeGrid(std::span<const Samples* const> lines, size_t most) {
  const size_t longest =
      base::largest(lines, size_t{0}, [](const Samples* line) { return line->size(); });
  if (longest == 0) return;
  int64_t to_ns = INT64_MIN;
  from_ns_ = INT64_MAX;
  for (const Samples* line : lines) {
    if (line->empty()) continue;
    from_ns_ = std::min(from_ns_, line->front().time_ns);
    to_ns = std::max(to_ns, line->back().time_ns);
  }
  const auto common = [&] {
    return times_ns_.size() <= most &&
           static_cast<double>(times_ns_.size()) <= kCommon * static_cast<double>(longest);
  };
  if (longest <= most) {
    for (const Samples* line : lines) {
      if (!common()) break;
      for (const run::Sample& sample : *line) times_ns_.push_back(sample.time_ns);
      base::sort_unique(times_ns_);
    }
    if (common()) return;
  }
  times_ns_.clear();
  const size_t buckets = std::max<size_t>(1, std::min(most, longest) / 2);
  width_ns_ = (static_cast<double>(to_ns - from_ns_) + 1) / static_cast<double>(buckets);
  for (size_t i = 0; i < buckets; ++i)
    for (const double part : {0.25, 0.75})
      times_ns_.push_back(from_ns_ + std::llround((static_cast<double>(i) + part) * width_ns_));
}

std::vector<double> TimeGrid::values(const Samples& line) const {
  if (width_ns_ > 0) return bucket_values(line);
  std::vector<double> values(times_ns_.size(), NAN);
  if (line.empty()) return values;
  size_t at = 0;
  for (size_t i = 0; i < times_ns_.size(); ++i) {
    while (at + 1 < line.size() && line[at + 1].time_ns <= times_ns_[i]) ++at;
    const bool within = times_ns_[i] >= line[at].time_ns &&
                        (at + 1 < line.size() || times_ns_[i] == line[at].time_ns);
    if (within) values[i] = line[at].value;
  }
  return values;
}

std::vector<double> TimeGrid::bucket_values(const Samples& line) const {
  std::vector<double> values(times_ns_.size(), NAN);
  const auto by_value = [](const run::Sample& a, const run::Sample& b) {
    return a.value < b.value;
  };
  for (size_t bucket = 0; 2 * bucket < values.size(); ++bucket) {
    const auto edge = [&](size_t index) {
      return from_ns_ + std::llround(static_cast<double>(index) * width_ns_);
    };
    const auto first = std::lower_bound(line.begin(), line.end(), edge(bucket), earlier);
    const auto last = std::lower_bound(first, line.end(), edge(bucket + 1), earlier);
    double &a = values[2 * bucket], &b = values[2 * bucket + 1];
    if (first == last) {  // nothing new: the former reading stands
      if (first != line.begin() && last != line.end()) a = b = std::prev(first)->value;
      continue;
    }
    const auto [lowest, highest] = std::minmax_element(first, last, by_value);
    a = lowest < highest ? lowest->value : highest->value;
    b = lowest < highest ? highest->value : lowest->value;
  }
  return values;
}

}  // namespace ergometer::page
