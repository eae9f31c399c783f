#include "analysis/telemetry/telemetry_duty.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/telemetry/telemetry_updates.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kSecond = 1e9;
/// Correlating a stretch takes the square of its points.
constexpr size_t kMostPoints = 8000;

double in_seconds(int64_t ns) { return static_cast<double>(ns) / kSecond; }

/// How much `values` resemble themselves `lag` later: correlation over what overlaps.
double resemblance(std::span<const double> values, size_t lag) {
  const size_t count = values.size() - lag;
  double mean_a = 0, mean_b = 0;
  for (size_t i = 0; i < count; ++i) {
    mean_a += values[i];
    mean_b += values[i + lag];
  }
  mean_a /= static_cast<double>(count);
  mean_b /= static_cast<double>(count);
  double aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < count; ++i) {
    const double a = values[i] - mean_a, b = values[i + lag] - mean_b;
    aa += a * a;
    bb += b * b;
    ab += a * b;
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

/// The lag at which the values repeat, between two whole ones by the parabola through three
/// correlations; nothing where they do not, or not once within half of the stretch.
std::optional<double> beat(std::span<const double> values) {
  constexpr size_t kShortest = 4;
  constexpr double kAlike = 0.85, kUnlike = 0.5;
  const size_t longest = values.size() * 2 / 3;
  std::vector<double> like(longest + 2, 0);
  if (longest <= kShortest + 1) return std::nullopt;
  for (size_t lag = 1; lag <= longest; ++lag) like[lag] = resemblance(values, lag);
  bool fell = false;
  for (size_t lag = 2; lag + 1 <= longest; ++lag) {
    fell = fell || like[lag] < kUnlike;
    if (!fell || lag < kShortest || like[lag] < kAlike) continue;
    if (like[lag] < like[lag - 1] || like[lag] < like[lag + 1]) continue;
    const double curve = like[lag - 1] - 2 * like[lag] + like[lag + 1];
    const double shift = curve < 0 ? 0.5 * (like[lag - 1] - like[lag + 1]) / curve : 0;
    return static_cast<double>(lag) + shift;
  }
  return std::nullopt;
}

struct Stretch {
  int64_t from_ns = 0, to_ns = 0;
  size_t first = 0, behind = 0;  ///< points within
};

/// What lies between quiet stretches; it begins and ends half way between two points.
std::vector<Stretch> busy_stretches(std::span<const run::Sample> points,
                                    const std::vector<Quiet>& quiet) {
  std::vector<Stretch> busy;
  const auto between = [&](size_t i) {
    return points[i - 1].time_ns + (points[i].time_ns - points[i - 1].time_ns) / 2;
  };
  size_t at = 0;
  for (size_t q = 0; q <= quiet.size(); ++q) {
    const size_t end = q < quiet.size() ? quiet[q].from : points.size();
    if (end > at)
      busy.push_back({at == 0 ? points.front().time_ns : between(at),
                      end == points.size() ? points.back().time_ns : between(end), at, end});
    if (q < quiet.size()) at = quiet[q].to;
  }
  return busy;
}

/// Mean over whole beats, over all places in the stretch where they fit.
double mean_over_beats(std::span<const run::Sample> points, double beat_s) {
  const int64_t from = points.front().time_ns, to = points.back().time_ns;
  const double beats = std::floor(in_seconds(to - from) / beat_s);
  const auto length = static_cast<int64_t>(beats * beat_s * kSecond);
  constexpr int64_t kPlaces = 16;
  double sum = 0;
  for (int64_t i = 0; i <= kPlaces; ++i) {
    const int64_t start = from + (to - from - length) / kPlaces * i;
    sum += energy_j(points, start, start + length) / in_seconds(length);
  }
  return sum / static_cast<double>(kPlaces + 1);
}

}  // namespace

std::vector<Quiet> quiet_stretches(std::span<const run::Sample> points, double period_s) {
  constexpr double kWithin = 0.025, kLeastS = 1.5;
  constexpr double kFewest = 4, kEnough = 2000;
  const auto fewest =
      static_cast<size_t>(std::clamp(std::ceil(kLeastS / period_s), kFewest, kEnough));
  std::vector<Quiet> quiet;
  if (!(period_s > 0)) return quiet;
  for (size_t from = 0; from < points.size();) {
    double lowest = points[from].value, highest = lowest, sum = 0;
    size_t to = from;
    for (; to < points.size(); ++to) {
      const double value = points[to].value;
      const double low = std::min(lowest, value), high = std::max(highest, value);
      const double mean = (sum + value) / static_cast<double>(to - from + 1);
      if (high - mean > kWithin * mean || mean - low > kWithin * mean) break;
      lowest = low;
      highest = high;
      sum += value;
    }
    if (to - from >= fewest) {
      quiet.push_back({from, to});
      from = to;
    } else {
      ++from;
    }
  }
  return quiet;
}

std::vector<RepeatingStretch> repeating_stretches(std::span<const run::Sample> points,
                                                  double period_s) {
  constexpr size_t kFewest = 24;
  std::vector<RepeatingStretch> result;
  if (!(period_s > 0) || points.size() < kFewest) return result;
  for (const Stretch& stretch : busy_stretches(points, quiet_stretches(points, period_s))) {
    const auto within = points.subspan(stretch.first, stretch.behind - stretch.first);
    if (within.size() < kFewest || within.size() > kMostPoints) continue;
    const std::vector<double> values = base::mapped(within, &run::Sample::value);
    const auto lag = beat(values);
    if (!lag) continue;
    RepeatingStretch found{stretch.from_ns, stretch.to_ns, 0, 0, 0};
    found.beat_s = *lag * in_seconds(within.back().time_ns - within.front().time_ns) /
                   static_cast<double>(within.size() - 1);
    found.mean_w = mean_over_beats(within, found.beat_s);
    found.correction_j = found.mean_w * in_seconds(found.to_ns - found.from_ns) -
                         energy_j(points, found.from_ns, found.to_ns);
    result.push_back(found);
  }
  return result;
}

double correction_j(std::span<const RepeatingStretch> stretches, int64_t from_ns, int64_t to_ns) {
  double sum = 0;
  for (const RepeatingStretch& s : stretches) {
    const int64_t inside = std::min(to_ns, s.to_ns) - std::max(from_ns, s.from_ns);
    if (inside > 0) sum += s.correction_j * in_seconds(inside) / in_seconds(s.to_ns - s.from_ns);
  }
  return sum;
}

}  // namespace ergometer::analysis
