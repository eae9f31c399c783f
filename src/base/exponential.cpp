#include "base/exponential.h"

#include <limits>

namespace ergometer::base {

double exponential_at_the_edge(double x) {
  if (x != x) return x;
  if (x > 710) return std::numeric_limits<double>::infinity();
  if (x < -746) return 0;
  // e^x = e^(x - n ln 2) 2^n in two halves, neither of which leaves the range of normal numbers.
  const double half = x > 0 ? 708 : -700;
  return exponential(half) * exponential(x - half);
}

double logarithm(double x) {
  // x = m 2^e with m in [0.7, 1.42); ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.1716.
  const auto bits = std::bit_cast<uint64_t>(x);
  auto e = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & ~(uint64_t{0x7ff} << 52)) | (uint64_t{1023} << 52));
  if (m > 1.4142135623730951) {
    m /= 2;
    ++e;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double tail = 0;
  for (int k = 23; k >= 3; k -= 2) tail = (tail + 1.0 / k) * square;
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  return e * kLn2High + (2 * s + (2 * s * tail + e * kLn2Low));
}

}  // namespace ergometer::base
