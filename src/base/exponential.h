#pragma once

#include <bit>
#include <cstdint>

namespace ergometer::base {

/// `exponential` where its quick path does not reach: results below 2^-1022 or above the largest
/// double, and what is not a number.
double exponential_at_the_edge(double x);

/// e^r for |r| <= ln(2) / 2 + rounding, r = high - low: Taylor series to the 13th power, whose rest
/// is below 1e-17.
constexpr double exponential_near_zero(double high, double low) {
  const double r = high - low;
  double tail = 1.0 / 6227020800;  // 1 / 13!
  tail = tail * r + 1.0 / 479001600;
  tail = tail * r + 1.0 / 39916800;
  tail = tail * r + 1.0 / 3628800;
  tail = tail * r + 1.0 / 362880;
  tail = tail * r + 1.0 / 40320;
  tail = tail * r + 1.0 / 5040;
  tail = tail * r + 1.0 / 720;
  tail = tail * r + 1.0 / 120;
  tail = tail * r + 1.0 / 24;
  tail = tail * r + 1.0 / 6;
  tail = tail * r + 0.5;
  return 1 + (high + (tail * r * r - low));
}

/// Where the quick path of `exponential` reaches.
inline bool is_quick_exponent(double x) { return (x > -708) & (x < 709); }

/// `exponential` of quick exponents: without a branch, for loops over many.
inline double quick_exponential(double x) {
  constexpr double kPerLn2 = 1.44269504088896340736;
  // ln 2 in two parts; the first has 21 trailing zero bits, so that n times it is exact.
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  // Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits.
  constexpr double kRound = 0x1.8p52;
  const double shifted = x * kPerLn2 + kRound;
  const double n = shifted - kRound;
  const auto power = static_cast<uint64_t>(std::bit_cast<int64_t>(shifted) << 52);
  const double scale = std::bit_cast<double>(power + (uint64_t{1023} << 52));
  return scale * exponential_near_zero(x - n * kLn2High, n * kLn2Low);
}

/// e^x, relative error below 1e-15 (2.3e-16 in the tests). Made of + - * and bit patterns alone,
/// so that it gives the same bits on every machine, which std::exp does not; short enough to be
/// inlined into loops.
inline double exponential(double x) {
  if (!is_quick_exponent(x)) return exponential_at_the_edge(x);
  return quick_exponential(x);
}

/// The natural logarithm of x > 0 (normal numbers), relative error below 1e-15 away from x = 1 and
/// absolute error below 1e-16 at it.
double logarithm(double x);

/// base^exponent for base > 0: relative error below 1e-15 times the size of the result's logarithm.
inline double power(double base, double exponent) {
  return exponential(exponent * logarithm(base));
}

}  // namespace ergometer::base
