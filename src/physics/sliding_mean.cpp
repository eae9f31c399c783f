#include "physics/sliding_mean.h"

#include <algorithm>
#include <cmath>

#include "base/widths.h"

namespace ergometer::physics {
namespace {

constexpr double kWindowRounding = 1e-9;  // of a sample, of windows that are whole samples

double samples_in(double window_s, double sample_s) {
  const double samples = window_s / sample_s, whole = std::round(samples);
  return std::max(1.0, std::abs(samples - whole) < kWindowRounding ? whole : samples);
}

ERGOMETER_WIDTHS void add_beyond(const double* __restrict first_w, const double* __restrict watts,
                                 double* __restrict beyond_w, double* __restrict last_w, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    last_w[i] = watts[i] - first_w[i];
    beyond_w[i] += last_w[i];
  }
}

/// From what is beyond the first sample, and of it the last one's part, to means.
ERGOMETER_WIDTHS void finish_means(double cut, double length, const double* __restrict first_w,
                                   double* __restrict last_to_beginning_w,
                                   double* __restrict beyond_to_ending_w, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const double beyond_w = beyond_to_ending_w[i];
    last_to_beginning_w[i] = first_w[i] + (beyond_w - cut * last_to_beginning_w[i]) / length;
    beyond_to_ending_w[i] = first_w[i] + beyond_w / length;
  }
}

}  // namespace

SlidingWindow::SlidingWindow(double window_s, double sample_s)
    : length_(samples_in(window_s, sample_s)),
      samples_(static_cast<size_t>(std::ceil(length_))),
      cut_(static_cast<double>(samples_) - length_) {}

void SlidingWindow::means(std::span<const double* const> watts, std::span<double> beginning_w,
                          std::span<double> ending_w) const {
  std::ranges::fill(beginning_w, 0.0);
  std::ranges::fill(ending_w, 0.0);
  for (size_t i = 1; i < samples_; ++i)
    add_beyond(watts[0], watts[i], ending_w.data(), beginning_w.data(), ending_w.size());
  finish_means(cut_, length_, watts[0], beginning_w.data(), ending_w.data(), ending_w.size());
}

std::vector<double> sliding_means(const PowerSeries& series, double window_s, bool periodic) {
  const size_t count = series.watts.size();
  const double all_s = series.interval_s * static_cast<double>(count);
  const SlidingWindow window(periodic ? window_s : std::min(window_s, all_s), series.interval_s);
  const size_t windows = periodic ? count : count - window.samples() + 1;
  std::vector<double> means_w;
  for (size_t first = 0; first < windows; ++first) {
    const auto [beginning_w, ending_w] =
        window.means([&](size_t i) { return series.watts[(first + i) % count]; });
    means_w.insert(means_w.end(), {beginning_w, ending_w});
  }
  return means_w;
}

}  // namespace ergometer::physics
