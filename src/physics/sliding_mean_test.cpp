#include "physics/sliding_mean.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace ergometer::physics {
namespace {

double highest(const std::vector<double>& means_w) { return *std::ranges::max_element(means_w); }

// 25 ms over samples of 10 ms: two and a half of them. 400 and 300 W and half of 100 W: 750 / 2.5
// W; with half of the 200 W before instead: 800 / 2.5 W.
TEST(SlidingMean, AWindowCutsASample) {
  const SlidingWindow window(0.025, 0.010);
  ASSERT_EQ(window.samples(), 3u);
  const std::vector<double> watts = {200, 400, 300, 100};
  const auto from = [&](size_t first) {
    return window.means([&](size_t i) { return watts[first + i]; });
  };
  EXPECT_NEAR(from(0).beginning_w, (200 + 400 + 150) / 2.5, 1e-9);
  EXPECT_NEAR(from(0).ending_w, (100 + 400 + 300) / 2.5, 1e-9);
  EXPECT_NEAR(from(1).beginning_w, (400 + 300 + 50) / 2.5, 1e-9);
  EXPECT_NEAR(from(1).ending_w, (200 + 300 + 100) / 2.5, 1e-9);
  EXPECT_NEAR(highest(sliding_means({0.010, watts}, 0.025, false)), 320, 1e-9);
  // Over and over: 200, 400 and half of 300 W, and what the end brings to it.
  EXPECT_EQ(sliding_means({0.010, watts}, 0.025, true).size(), 8u);
}

// Many series side by side: each has the means that it has alone, to the last bit.
TEST(SlidingMean, MeansOfManyAsOfOne) {
  constexpr size_t kSeries = 19;  // no whole number of vectors
  const SlidingWindow window(0.025, 0.0049);
  std::vector<std::vector<double>> samples(window.samples());
  std::vector<const double*> watts;
  for (size_t i = 0; i < samples.size(); ++i) {
    for (uint64_t series = 0; series < kSeries; ++series)
      samples[i].push_back(base::Random(4, i, "watts").uniform(series, 100, 700));
    watts.push_back(samples[i].data());
  }
  std::vector<double> beginning_w(kSeries), ending_w(kSeries);
  window.means(watts, beginning_w, ending_w);
  for (size_t series = 0; series < kSeries; ++series) {
    const auto alone = window.means([&](size_t i) { return samples[i][series]; });
    EXPECT_EQ(beginning_w[series], alone.beginning_w);
    EXPECT_EQ(ending_w[series], alone.ending_w);
    EXPECT_NE(alone.beginning_w, alone.ending_w);
  }
}

// Samples a hair shorter than the window: as good as one of them, not the mean of two.
TEST(SlidingMean, AHairLessThanTheWindowIsNotHalfOfIt) {
  const PowerSeries series{0.0249, {100, 700, 100, 100}};
  EXPECT_NEAR(highest(sliding_means(series, 0.025, false)), (700 * 0.0249 + 100 * 0.0001) / 0.025,
              1e-9);
}

TEST(SlidingMean, WindowsOfWholeSamplesAndShorterOnes) {
  EXPECT_EQ(SlidingWindow(0.025, 0.0125).samples(), 2u);
  EXPECT_EQ(SlidingWindow(0.3, 0.1).samples(), 3u);  // 0.3 / 0.1 is not 3
  EXPECT_EQ(SlidingWindow(0.025, 0.1).samples(), 1u);
  EXPECT_EQ(highest(sliding_means({0.1, {1, 5, 3}}, 0.025, false)), 5);
  EXPECT_EQ(sliding_means({0.01, {4, 4, 4}}, 1, false), (std::vector<double>{4, 4}));  // too short
  // It repeats: a window of one and a half periods of 2 s holds 3 + 1 + 3 or 1 + 3 + 1.
  EXPECT_NEAR(highest(sliding_means({1, {1, 3}}, 3, true)), 7.0 / 3, 1e-12);
  // A constant is its own mean, to the last bit.
  for (const double mean_w : sliding_means({0.007, std::vector<double>(9, 0.1)}, 0.025, true))
    EXPECT_EQ(mean_w, 0.1);
}

/// The mean over `window_s` from `start_s` on.
double mean_from(const PowerSeries& series, double start_s, double window_s) {
  double joules = 0;
  for (size_t i = 0; i < series.watts.size(); ++i) {
    const double begin_s = static_cast<double>(i) * series.interval_s;
    joules +=
        series.watts[i] * std::max(0.0, std::min(begin_s + series.interval_s, start_s + window_s) -
                                            std::max(begin_s, start_s));
  }
  return joules / window_s;
}

// No window anywhere has a higher mean, or a lower one, than those that begin or end with a sample;
// and how samples are cut finer changes nothing.
TEST(SlidingMean, ExtremesAreThoseOfAllWindows) {
  const base::Random random(7, 0, "samples");
  for (const double interval_s : {0.003, 0.011, 0.0249, 0.04}) {
    PowerSeries series{interval_s, {}}, finer{interval_s / 3, {}};
    for (uint64_t i = 0; i < 40; ++i) {
      series.watts.push_back(700 * random.uniform(i));
      finer.watts.insert(finer.watts.end(), 3, series.watts.back());
    }
    const double window_s = 0.025;
    const std::vector<double> means_w = sliding_means(series, window_s, false);
    const auto [low_w, high_w] = std::ranges::minmax(means_w);
    const double all_s = 40 * interval_s;
    for (double start_s = 0; start_s < all_s - window_s; start_s += interval_s / 37) {
      const double mean_w = mean_from(series, start_s, window_s);
      EXPECT_LE(mean_w, high_w + 1e-9);
      EXPECT_GE(mean_w, low_w - 1e-9);
    }
    if (interval_s > window_s) continue;  // a sample is a window then
    EXPECT_NEAR(highest(sliding_means(finer, window_s, false)), high_w, 1e-9);
  }
}

}  // namespace
}  // namespace ergometer::physics
