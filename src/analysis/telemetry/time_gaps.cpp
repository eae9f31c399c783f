#include "analysis/telemetry/time_gaps.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/math/sum.h"
#include "base/collection.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t length_ns(const TimeSpan& span) { return span.to_ns - span.from_ns; }

/// A time that no clock of today shows is seconds from the start of a recording.
std::string point_text(int64_t time_ns) {
  constexpr int64_t kYear2000S = 946'684'800;
  const int64_t s = time_ns / kSecondNs;
  if (s < kYear2000S) return fmt::format("second {}", base::format_count(s));
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(s)));
}

/// The stretches between neighbours that `apart` says are none.
template <class Apart>
std::vector<TimeSpan> between(std::span<const run::Sample> samples, Apart apart) {
  std::vector<TimeSpan> spans;
  for (size_t i = 1; i < samples.size(); ++i)
    if (apart(samples[i - 1], samples[i]))
      spans.push_back({samples[i - 1].time_ns, samples[i].time_ns});
  return spans;
}

}  // namespace

int64_t longest_distance_ns(std::span<const run::Sample> samples) {
  constexpr double kMedians = 5, kLeastS = 10;
  std::vector<double> distances;
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i].time_ns > samples[i - 1].time_ns)
      distances.push_back(seconds(samples[i].time_ns - samples[i - 1].time_ns));
  const double limit_s = std::max(kLeastS, kMedians * base::upper_median(std::move(distances)));
  constexpr double kMostS = 9e9;
  return static_cast<int64_t>(std::min(limit_s, kMostS) * static_cast<double>(kSecondNs));
}

std::vector<TimeSpan> gaps_in(std::span<const run::Sample> samples) {
  const int64_t longest = longest_distance_ns(samples);
  return between(samples, [&](const run::Sample& a, const run::Sample& b) {
    return b.time_ns - a.time_ns > longest;
  });
}

std::vector<TimeSpan> resets_in(std::span<const run::Sample> samples) {
  return between(samples,
                 [](const run::Sample& a, const run::Sample& b) { return b.value < a.value; });
}

std::vector<TimeSpan> without(TimeSpan whole, std::vector<TimeSpan> gaps) {
  std::ranges::sort(gaps, {}, &TimeSpan::from_ns);
  std::vector<TimeSpan> left;
  int64_t at = whole.from_ns;
  for (const TimeSpan& gap : gaps) {
    const int64_t end = std::min(gap.from_ns, whole.to_ns);
    if (end > at) left.push_back({at, end});
    at = std::max(at, gap.to_ns);
  }
  if (whole.to_ns > at) left.push_back({at, whole.to_ns});
  return left;
}

double recorded_s(TimeSpan whole, std::span<const TimeSpan> gaps) {
  int64_t left_ns = length_ns(whole);
  for (auto gap = std::ranges::partition_point(
           gaps, [&](const TimeSpan& g) { return g.to_ns <= whole.from_ns; });
       gap != gaps.end() && gap->from_ns < whole.to_ns; ++gap)
    left_ns -= std::min(gap->to_ns, whole.to_ns) - std::max(gap->from_ns, whole.from_ns);
  return seconds(left_ns);
}

double length_s(std::span<const TimeSpan> spans) {
  return base::sum(spans, [](const TimeSpan& span) { return seconds(length_ns(span)); });
}

std::string told(std::span<const TimeSpan> spans) {
  const TimeSpan& longest = *std::ranges::max_element(spans, {}, length_ns);
  std::string text = fmt::format("{} s from {}", base::format_count(length_ns(longest) / kSecondNs),
                                 point_text(longest.from_ns));
  if (spans.size() > 1)
    text += fmt::format(" and {} more, {} s in all", spans.size() - 1,
                        base::format_count(static_cast<int64_t>(length_s(spans))));
  return text;
}

}  // namespace ergometer::analysis
