#include "physics/spectrum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "physics/series_mean.h"

namespace ergometer::physics {
namespace {

std::vector<double> noise(size_t count) {
  const base::Random random(1, 0, "spectrum test");
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = random.uniform(i, 1e6, 2e6);
  return values;
}

double sum_of_squares(const Spectrum& found) {
  double sum = 0;
  for (const Band& band : found.bands) sum += band.rms_w * band.rms_w;
  return sum;
}

/// Of the band that holds `hz`.
double rms_at(const Spectrum& found, double hz) {
  for (const Band& band : found.bands)
    if (band.low_hz <= hz && hz < band.high_hz) return band.rms_w;
  return -1;
}

TEST(Spectrum, TransformOfThreeByHand) {
  // 1 + 2 w + 4 w^2 with w = exp(-2 pi i / 3) = -1/2 - i sqrt(3)/2: -2 + i sqrt(3)
  const std::vector<double> values = {1, 2, 4};
  const auto transform = real_transform(values);
  ASSERT_EQ(transform.size(), 2u);
  EXPECT_NEAR(transform[0].real(), 7, 1e-14);
  EXPECT_NEAR(transform[1].real(), -2, 1e-14);
  EXPECT_NEAR(transform[1].imag(), std::sqrt(3.0), 1e-14);
}

TEST(Spectrum, TransformEqualsTheSumForAnyLength) {
  for (const size_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 60, 64, 97, 100}) {
    const std::vector<double> values = noise(n);
    const auto transform = real_transform(values);
    ASSERT_EQ(transform.size(), n / 2 + 1);
    for (size_t k = 0; k < transform.size(); ++k) {
      std::complex<double> sum = 0;
      for (size_t j = 0; j < n; ++j)
        sum += values[j] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % n) /
                                               static_cast<double>(n));
      EXPECT_NEAR(std::abs(transform[k] - sum), 0, 1e-14 * 2e6 * static_cast<double>(n)) << n;
    }
  }
}

TEST(Spectrum, SquaresOfBandsAddUpToTheVariance) {
  for (const size_t n : {2, 3, 5, 64, 999, 1000, 6007, 16384})
    for (const bool periodic : {true, false}) {
      const PowerSeries series{0.01, noise(n)};
      const double variance = variance_w2(series.watts);
      EXPECT_NEAR(sum_of_squares(spectrum(series, periodic)), variance, 1e-9 * variance) << n;
    }
}

TEST(Spectrum, ParsevalHoldsWithoutScaling) {
  // Sum of |x|^2 = sum of |X|^2 / n; every frequency between 0 and the middle counts twice.
  for (const size_t n : {1000, 1001, 8192}) {
    const std::vector<double> values = noise(n);
    const auto transform = real_transform(values);
    double time = 0, frequency = 0;
    for (const double value : values) time += value * value;
    for (size_t k = 0; k < transform.size(); ++k)
      frequency += (k == 0 || 2 * k == n ? 1 : 2) * std::norm(transform[k]);
    EXPECT_NEAR(frequency / static_cast<double>(n), time, 1e-12 * time) << n;
  }
}

TEST(Spectrum, SineIsOneLine) {
  // 100 W at 5 Hz over 2 s: root mean square 100 / sqrt(2) = 70.71 W in the octave from 4 to 8 Hz.
  PowerSeries series{0.01, {}};
  for (int i = 0; i < 200; ++i)
    series.watts.push_back(1000 + 100 * std::sin(2 * std::numbers::pi * 5 * 0.01 * i));
  for (const bool periodic : {true, false}) {
    const Spectrum found = spectrum(series, periodic);
    EXPECT_NEAR(found.dominant_hz, 5, 1e-9);
    // Hann's window spreads a line over three frequencies, all within the octave.
    EXPECT_NEAR(found.dominant_rms_w, 70.7107, periodic ? 1e-4 : 0.1);
    EXPECT_NEAR(rms_at(found, 5), 70.7107, periodic ? 1e-4 : 0.1);
    EXPECT_NEAR(rms_at(found, 1), 0, periodic ? 1e-6 : 0.1);
  }
}

TEST(Spectrum, SquareWaveHasOddHarmonics) {
  // +-100 W, 1 s, 100 samples: harmonic k has the amplitude 2 x 100 / (100 sin(pi k / 100)), so
  // at 1 Hz 2 / sin(1.8 degrees) = 63.6724 W (127.3 / 2 of each sign), root mean square
  // 63.6724 sqrt(2) = 90.0464 W; at 3 Hz 2 / sin(5.4 degrees) sqrt(2) = 30.055 W.
  PowerSeries series{0.01, {}};
  for (int i = 0; i < 100; ++i) series.watts.push_back(i < 50 ? 600 : 400);
  const Spectrum found = spectrum(series, true);
  EXPECT_DOUBLE_EQ(found.dominant_hz, 1);
  EXPECT_NEAR(found.dominant_rms_w, 90.0464, 1e-3);
  ASSERT_EQ(found.bands.size(), 6u);  // 1-2, 2-4, 4-8, 8-16, 16-32, 32-64 Hz
  EXPECT_DOUBLE_EQ(found.bands[0].low_hz, 1);
  EXPECT_NEAR(found.bands[0].rms_w, 90.0464, 0.001);
  EXPECT_NEAR(found.bands[1].rms_w, 30.055, 0.001);
  EXPECT_NEAR(sum_of_squares(found), 1e4, 1e-5);
}

TEST(Spectrum, BordersOfOctavesSurviveRounding) {
  // 1 Hz is the lower border of an octave and, at 0.1 s x 600, not exactly 60 / 60.
  PowerSeries series{0.1, {}};
  for (int i = 0; i < 600; ++i) series.watts.push_back(i % 10 < 5 ? 1 : 0);
  const Spectrum found = spectrum(series, true);
  EXPECT_GT(rms_at(found, 1.5), 0.4);
  EXPECT_NEAR(rms_at(found, 0.9), 0, 1e-9);
}

TEST(Spectrum, ConstantAndSingleSampleHaveNone) {
  EXPECT_TRUE(spectrum({0.1, {5}}, true).bands.empty());
  EXPECT_TRUE(spectrum({0.1, {}}, true).bands.empty());
  const Spectrum constant = spectrum({0.1, std::vector<double>(77, 0.1)}, false);
  EXPECT_EQ(constant.dominant_hz, 0);
  EXPECT_EQ(constant.dominant_rms_w, 0);
  EXPECT_EQ(sum_of_squares(constant), 0);
}

}  // namespace
}  // namespace ergometer::physics
