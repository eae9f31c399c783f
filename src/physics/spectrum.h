#pragma once

#include <complex>
#include <span>
#include <vector>

#include "physics/facility.h"

namespace ergometer::physics {

/// X_k = sum over j of x_j exp(-2 pi i j k / n), k = 0 .. n/2, of any length n: a power of two
/// directly, else by Bluestein's convolution. O(n log n), relative error about 1e-15 log2 n.
std::vector<std::complex<double>> real_transform(std::span<const double> values);

struct Spectrum {
  std::vector<Band> bands;                     ///< octaves between powers of two of 1 Hz
  double dominant_hz = 0, dominant_rms_w = 0;  ///< 0: the power is constant
};

/// The bands from the one that holds 1 / length to the one that holds the Nyquist frequency. Their
/// squares add up to the variance of the series. Not periodic: under Hann's window, scaled so that
/// the sum holds; a line then covers three frequencies.
Spectrum spectrum(const PowerSeries& series, bool periodic);

}  // namespace ergometer::physics
