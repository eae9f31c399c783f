#include "physics/spectrum.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "physics/series_mean.h"
#include "physics/unit_circle.h"

namespace ergometer::physics {
namespace {

using Complex = std::complex<double>;

/// Written out: std::complex's product also looks after infinities.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void reverse_bits(std::vector<Complex>& values) {
  const size_t n = values.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
}

/// In place, the length a power of two; `roots`: exp(-2 pi i k / n), k < n/2.
void transform_power_of_two(std::vector<Complex>& values, const std::vector<Complex>& roots) {
  const size_t n = values.size();
  reverse_bits(values);
  for (size_t half = 1; half < n; half *= 2) {
    const size_t stride = n / (2 * half);
    for (size_t start = 0; start < n; start += 2 * half)
      for (size_t i = 0; i < half; ++i) {
        const Complex odd = product(values[start + half + i], roots[i * stride]);
        const Complex even = values[start + i];
        values[start + i] = even + odd;
        values[start + half + i] = even - odd;
      }
  }
}

std::vector<Complex> roots_of(size_t n) {
  std::vector<Complex> roots(n / 2);
  for (size_t k = 0; k < roots.size(); ++k)
    roots[k] = std::conj(unit_circle(static_cast<int64_t>(k), static_cast<int64_t>(n)));
  return roots;
}

/// With j k = (j^2 + k^2 - (k - j)^2) / 2 the sum is a convolution with exp(i pi m^2 / n), which
/// transforms of a power of two give.
std::vector<Complex> bluestein(std::span<const double> values) {
  const size_t n = values.size();
  const size_t length = std::bit_ceil(2 * n - 1);
  std::vector<Complex> chirp(n);  // exp(-i pi j^2 / n)
  uint64_t square = 0;            // j^2 modulo 2 n, without overflow
  for (size_t j = 0; j < n; ++j) {
    chirp[j] = std::conj(unit_circle(static_cast<int64_t>(square), static_cast<int64_t>(2 * n)));
    square = (square + 2 * j + 1) % (2 * n);
  }
  std::vector<Complex> signal(length), kernel(length);
  for (size_t j = 0; j < n; ++j) signal[j] = values[j] * chirp[j];
  kernel[0] = std::conj(chirp[0]);
  for (size_t j = 1; j < n; ++j) kernel[j] = kernel[length - j] = std::conj(chirp[j]);
  const std::vector<Complex> roots = roots_of(length);
  transform_power_of_two(signal, roots);
  transform_power_of_two(kernel, roots);
  // Back: the conjugate of the transform of the conjugate, over the length.
  for (size_t k = 0; k < length; ++k) signal[k] = std::conj(product(signal[k], kernel[k]));
  transform_power_of_two(signal, roots);
  const double scale = 1 / static_cast<double>(length);
  std::vector<Complex> result(n / 2 + 1);
  for (size_t k = 0; k < result.size(); ++k)
    result[k] = product(std::conj(signal[k]) * scale, chirp[k]);
  return result;
}

/// The series without its mean; not periodic: times Hann's window, sin^2(pi (i + 1/2) / n), and
/// without the constant that the window would make of it.
std::vector<double> swing_of(const PowerSeries& series, bool periodic) {
  const size_t n = series.watts.size();
  std::vector<double> window(n, 1), swing(n);
  if (!periodic)
    for (size_t i = 0; i < n; ++i) {
      const double height =
          unit_circle(static_cast<int64_t>(2 * i + 1), static_cast<int64_t>(4 * n)).imag();
      window[i] = height * height;
    }
  const double first = series.watts.front();
  double sum = 0, weights = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += window[i] * (series.watts[i] - first);
    weights += window[i];
  }
  const double mean = sum / weights;
  for (size_t i = 0; i < n; ++i) swing[i] = window[i] * (series.watts[i] - first - mean);
  return swing;
}

/// Variance at k / length Hz, k = 0 .. n/2, scaled to the variance of the series. Every frequency
/// but 0 and, of an even length, the last stands for two of the whole transform.
std::vector<double> variances_of(const PowerSeries& series, bool periodic) {
  const std::vector<Complex> transform = real_transform(swing_of(series, periodic));
  const size_t n = series.watts.size();
  std::vector<double> result(transform.size());
  double sum = 0;
  for (size_t k = 1; k < result.size(); ++k) {
    const bool last = 2 * k == n;
    const Complex value = transform[k];
    result[k] = (last ? 1 : 2) * (value.real() * value.real() + value.imag() * value.imag());
    sum += result[k];
  }
  const double scale = sum > 0 ? variance_w2(series.watts) / sum : 0;
  for (double& value : result) value *= scale;
  return result;
}

/// k with 2^k <= hz < 2^(k+1); a frequency that rounding left below a border belongs above it.
int octave_of(double hz) {
  constexpr double kRounding = 1 + 1e-9;
  return std::ilogb(hz * kRounding);
}

std::vector<Band> bands_of(const std::vector<double>& variances, double step_hz) {
  std::vector<Band> bands;
  int octave = 0;
  for (size_t k = 1; k < variances.size(); ++k) {
    const int own = octave_of(static_cast<double>(k) * step_hz);
    if (bands.empty()) octave = own - 1;
    while (octave < own) {
      ++octave;
      bands.push_back({std::ldexp(1.0, octave), std::ldexp(1.0, octave + 1), 0});
    }
    bands.back().rms_w += variances[k];
  }
  for (Band& band : bands) band.rms_w = std::sqrt(band.rms_w);
  return bands;
}

/// Under Hann's window a line lies on its frequency and both neighbours.
void find_dominant(const std::vector<double>& variances, double step_hz, bool periodic,
                   Spectrum& result) {
  double most = 0;
  size_t at = 0;
  for (size_t k = 1; k < variances.size(); ++k)
    if (variances[k] > most) {
      most = variances[k];
      at = k;
    }
  if (at == 0) return;
  if (!periodic) {
    if (at > 1) most += variances[at - 1];
    if (at + 1 < variances.size()) most += variances[at + 1];
  }
  result.dominant_hz = static_cast<double>(at) * step_hz;
  result.dominant_rms_w = std::sqrt(most);
}

}  // namespace

std::vector<Complex> real_transform(std::span<const double> values) {
  const size_t n = values.size();
  if (n == 0) return {};
  if (!std::has_single_bit(n)) return bluestein(values);
  std::vector<Complex> result(values.begin(), values.end());
  transform_power_of_two(result, roots_of(n));
  result.resize(n / 2 + 1);
  return result;
}

Spectrum spectrum(const PowerSeries& series, bool periodic) {
  Spectrum result;
  if (series.watts.size() < 2 || !(series.interval_s > 0)) return result;
  const double step_hz = 1 / (static_cast<double>(series.watts.size()) * series.interval_s);
  const std::vector<double> variances = variances_of(series, periodic);
  result.bands = bands_of(variances, step_hz);
  find_dominant(variances, step_hz, periodic, result);
  return result;
}

}  // namespace ergometer::physics
