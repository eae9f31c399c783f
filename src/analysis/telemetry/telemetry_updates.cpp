#include "analysis/telemetry/telemetry_updates.h"

#include <algorithm>
#include <cmath>

#include "analysis/math/sum.h"
#include "analysis/telemetry/time_gaps.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kSecondsPerNs = 1e-9;

/// Mean of the intervals within 30 % of their median: reading jitters, and an interval may hold an
/// update that changed nothing.
double typical(const std::vector<double>& intervals) {
  constexpr double kNear = 0.3;
  const double middle = base::upper_median(intervals);
  double sum = 0;
  int64_t count = 0;
  for (const double interval : intervals) {
    if (std::abs(interval - middle) > kNear * middle) continue;
    sum += interval;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : middle;
}

void find_period(std::span<const run::Sample> samples, SensorUpdates& updates) {
  std::vector<double> gaps, intervals;
  int64_t last_change = -1;
  for (size_t i = 1; i < samples.size(); ++i) {
    // A reading that stands twice, as where two servers kept it, is one.
    if (samples[i].time_ns > samples[i - 1].time_ns)
      gaps.push_back(seconds(samples[i].time_ns - samples[i - 1].time_ns));
    if (samples[i].value == samples[i - 1].value) continue;
    if (last_change >= 0)
      intervals.push_back(
          seconds(samples[i].time_ns - samples[static_cast<size_t>(last_change)].time_ns));
    last_change = static_cast<int64_t>(i);
  }
  updates.reading_interval_s = base::upper_median(gaps);
  constexpr size_t kFewest = 3;
  if (intervals.size() >= kFewest) updates.period_s = typical(intervals);
}

}  // namespace

SensorUpdates find_updates(std::span<const run::Sample> samples) {
  SensorUpdates updates;
  updates.readings = static_cast<int64_t>(samples.size());
  if (samples.empty()) return updates;
  find_period(samples, updates);
  constexpr double kLate = 1.5;
  const double late_ns = kLate * updates.period_s / kSecondsPerNs;
  int64_t changed_at = samples.front().time_ns;
  updates.distinct = 1;
  updates.points.push_back(samples.front());
  for (const run::Sample& sample : samples.subspan(1)) {
    const run::Sample& last = updates.points.back();
    if (sample.value != last.value) {
      if (updates.period_s > 0) {
        const double turns = std::round(seconds(sample.time_ns - changed_at) / updates.period_s);
        if (turns > 1) updates.unchanged += static_cast<int64_t>(turns) - 1;
      }
      changed_at = sample.time_ns;
      ++updates.distinct;
      updates.points.push_back(sample);
    } else if (static_cast<double>(sample.time_ns - last.time_ns) >= late_ns) {
      updates.points.push_back(sample);
    }
  }
  if (updates.period_s > 0)
    updates.unchanged +=
        static_cast<int64_t>(seconds(samples.back().time_ns - changed_at) / updates.period_s);
  if (updates.points.back().time_ns < samples.back().time_ns)
    updates.points.push_back(samples.back());
  return updates;
}

double value_at(std::span<const run::Sample> points, int64_t time_ns) {
  const auto after = std::upper_bound(points.begin(), points.end(), time_ns,
                                      [](int64_t t, const auto& p) { return t < p.time_ns; });
  if (after == points.begin()) return points.front().value;
  const run::Sample& a = *(after - 1);
  if (after == points.end()) return a.value;
  const double share =
      static_cast<double>(time_ns - a.time_ns) / static_cast<double>(after->time_ns - a.time_ns);
  return a.value + (after->value - a.value) * share;
}

double energy_j(std::span<const run::Sample> points, int64_t start_ns, int64_t end_ns) {
  if (points.empty() || end_ns <= start_ns) return 0;
  auto at = std::upper_bound(points.begin(), points.end(), start_ns,
                             [](int64_t t, const auto& p) { return t < p.time_ns; });
  run::Sample last{start_ns, value_at(points, start_ns)};
  double sum = 0;
  for (; at != points.end() && at->time_ns < end_ns; ++at) {
    sum += 0.5 * (last.value + at->value) * seconds(at->time_ns - last.time_ns);
    last = *at;
  }
  return sum + 0.5 * (last.value + value_at(points, end_ns)) * seconds(end_ns - last.time_ns);
}

double counted(std::span<const run::Sample> samples, int64_t start_ns, int64_t end_ns) {
  if (samples.empty() || end_ns <= start_ns) return 0;
  double last = value_at(samples, start_ns), sum = 0;
  for (const run::Sample& sample : samples) {
    if (sample.time_ns <= start_ns) continue;
    if (sample.time_ns >= end_ns) break;
    sum += std::max(0.0, sample.value - last);
    last = sample.value;
  }
  return sum + std::max(0.0, value_at(samples, end_ns) - last);
}

double percentile(std::vector<double>& values, double fraction) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

std::vector<StandingValue> standing_values(const SensorUpdates& updates, double efficiency) {
  constexpr double kLate = 1.5;
  const int64_t longest_ns = longest_distance_ns(updates.points);
  std::vector<StandingValue> values;
  for (size_t i = 0; i < updates.points.size(); ++i) {
    const int64_t stands_ns = i + 1 < updates.points.size()
                                  ? updates.points[i + 1].time_ns - updates.points[i].time_ns
                                  : 0;
    const double periods = updates.period_s > 0 ? seconds(stands_ns) / updates.period_s : 1;
    const bool stood = periods >= kLate && stands_ns <= longest_ns;
    values.push_back({updates.points[i].value / efficiency, stood ? periods : 1});
  }
  return values;
}

double percentile(std::vector<StandingValue>& values, double fraction) {
  if (values.empty()) return 0;
  std::ranges::sort(values, {}, &StandingValue::value);
  const double rank = fraction * base::sum(values, &StandingValue::updates);
  double so_far = 0;
  for (const StandingValue& one : values)
    if ((so_far += one.updates) >= rank) return one.value;
  return values.back().value;
}

}  // namespace ergometer::analysis
