#include "base/random.h"

#include <array>
#include <cmath>

#include "base/check.h"

namespace ergometer::base {
namespace {

constexpr double kLn2 = 0.6931471805599453;

/// Natural logarithm. The C library's differs in the last bit from one machine to the next, this
/// one does not. x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s) = 2 (s + s^3/3 +
/// s^5/5 + ...), s = (m-1)/(m+1).
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  // |s| < 0.172, so the first term left out, s^23 / 23, is below 1e-18.
  for (int k = 21; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
  return exponent * kLn2 + 2 * s * sum;
}

double polynomial(const std::array<double, 8>& coefficients, double x) {
  double sum = 0;
  for (const double coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

struct Rational {
  std::array<double, 8> numerator, denominator;  ///< highest power first
  double operator()(double x) const {
    return polynomial(numerator, x) / polynomial(denominator, x);
  }
};

// Algorithm AS 241 (PPND16), M. J. Wichura, Applied Statistics 37 (1988), 477-484.
constexpr Rational kCentre = {
    {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608},
    {5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1}};
constexpr Rational kShoulder = {
    {7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
     1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959,
     1.42343711074968357734},
    {1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187,
     1}};
constexpr Rational kTail = {
    {2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
     0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699,
     6.6579046435011037772},
    {2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
     7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
     0.59983220655588793769, 1}};

}  // namespace

double normal_quantile(double probability) {
  ERGOMETER_CHECK(probability > 0 && probability < 1, "a probability strictly between 0 and 1");
  const double q = probability - 0.5;
  if (std::fabs(q) <= 0.425) return q * kCentre(0.180625 - q * q);
  const double r = std::sqrt(-portable_log(q < 0 ? probability : 1 - probability));
  const double size = r <= 5 ? kShoulder(r - 1.6) : kTail(r - 5);
  return q < 0 ? -size : size;
}

double Random::normal(uint64_t n) const {
  // The middle of one of 2^53 equal steps, so that 0 and 1 cannot come up. 1 - 2^-54 would round to
  // 1: the upper half is mirrored from the lower, where small numbers are exact.
  const uint64_t step = bits(n) >> 11;
  const bool upper = (step >> 52) != 0;
  const uint64_t mirrored = upper ? (uint64_t{1} << 53) - 1 - step : step;
  const double value = normal_quantile((static_cast<double>(mirrored) + 0.5) * 0x1p-53);
  return upper ? -value : value;
}

}  // namespace ergometer::base
