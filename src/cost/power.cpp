#include "cost/power.h"

#include <cmath>

#include "base/check.h"

namespace ergometer::cost {

double power(double base, double exponent) {
  constexpr int kFractionBits = 10;
  ERGOMETER_CHECK(base > 0 && exponent >= 0 && exponent < 4,
                  "a base above 0 and an exponent in [0, 4)");
  const auto steps = std::llround(exponent * (1 << kFractionBits));
  double result = 1;
  for (long long whole = steps >> kFractionBits; whole > 0; --whole) result *= base;
  double root = base;  // base^(1/2), base^(1/4), ... for the bits behind the point
  for (int bit = kFractionBits - 1; bit >= 0; --bit) {
    root = std::sqrt(root);
    if ((steps >> bit) & 1) result *= root;
  }
  return result;
}

double levels(long long n) {
  ERGOMETER_CHECK(n >= 1, "a tree has nodes");
  long long whole = 0;
  while ((2LL << whole) <= n) ++whole;
  const double floor = static_cast<double>(1LL << whole);
  return static_cast<double>(whole) + (static_cast<double>(n) - floor) / floor;
}

}  // namespace ergometer::cost
