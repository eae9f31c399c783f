#include "physics/sliding_mean.h"

#include <algorithm>
#include <cmath>

namespace ergometer::physics {
namespace {

constexpr double kWindowRounding = 1e-9;  // of a sample, of windows that are whole samples

double samples_in(double window_s, double sample_s) {
  const double samples = window_s / sample_s, whole = std::round(samples);
  return std::max(1.0, std::abs(samples - whole) < kWindowRounding ? whole : samples);
}

}  // namespace

SlidingWindow::SlidingWindow(double window_s, double sample_s)
    : length_(samples_in(window_s, sample_s)),
      samples_(static_cast<size_t>(std::ceil(length_))),
      cut_(static_cast<double>(samples_) - length_) {}

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
