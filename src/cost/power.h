#pragma once

namespace ergometer::cost {

/// `base` to the power `exponent`, base > 0 and exponent in [0, 4), made of square roots and
/// products only, so that every compiler and C library gives the same bits (std::pow does not
/// promise that). The exponent is taken to the nearest 1/1024: q^0.735 becomes q^0.73535.
double power(double base, double exponent);

/// Logarithm to base 2 of n >= 1, straight lines between powers of two: exact there, 1.585 reads
/// 1.5 at n = 3. Levels of a tree over n nodes.
double levels(long long n);

}  // namespace ergometer::cost
