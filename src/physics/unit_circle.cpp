#include "physics/unit_circle.h"

#include <numbers>
#include <utility>

namespace ergometer::physics {
namespace {

/// x (1 - x^2/(2 3) (1 - x^2/(4 5) (...))); |x| <= pi/4 leaves less than 1e-17 behind x^19.
double sine(double x) {
  double sum = 1;
  for (int term = 18; term >= 2; term -= 2) sum = 1 - x * x / (term * (term + 1)) * sum;
  return x * sum;
}

/// 1 - x^2/(1 2) (1 - x^2/(3 4) (...))
double cosine(double x) {
  double sum = 1;
  for (int term = 17; term >= 1; term -= 2) sum = 1 - x * x / (term * (term + 1)) * sum;
  return sum;
}

}  // namespace

std::complex<double> unit_circle(int64_t k, int64_t n) {
  k %= n;
  if (k < 0) k += n;
  // Eighths of a turn are 8 k / n; all that follows is exact up to the division.
  const int64_t quarter = 4 * k / n;
  int64_t rest = 4 * k - quarter * n;  // of a quarter, in units of 1 / n quarters
  const bool mirror = 2 * rest > n;
  if (mirror) rest = n - rest;
  const double angle = std::numbers::pi / 2 * (static_cast<double>(rest) / static_cast<double>(n));
  double x = cosine(angle), y = sine(angle);
  if (mirror) std::swap(x, y);
  switch (quarter) {
    case 0: return {x, y};
    case 1: return {-y, x};
    case 2: return {-x, -y};
    default: return {y, -x};
  }
}

}  // namespace ergometer::physics
