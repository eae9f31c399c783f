#pragma once

#include <complex>
#include <cstdint>

namespace ergometer::physics {

/// exp(2 pi i k / n), n > 0, to 1e-15: the quarter and the mirror are found in whole numbers, what
/// remains (at most pi/4) by Taylor's series. Only + - * /, so that every machine gets the same
/// bytes, which std::sin does not promise.
std::complex<double> unit_circle(int64_t k, int64_t n);

}  // namespace ergometer::physics
