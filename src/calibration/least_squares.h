#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace ergometer::calibration {

/// Robust least squares with priors and bounds. Over x, one number a parameter, minimises
///
///   C(x) = sum over rows w_i rho(r_i(x) / s)  +  sum over parameters (x_j / sigma_j)^2
///   rho(z) = v log(1 + z^2 / v)
///
/// s is the noise of a row and v the freedom of the Student t distribution its residual follows: a
/// residual much larger than s pulls no harder than one of s sqrt(v), so that broken rows do not
/// steer. Every prior is at x_j = 0.
struct Bounds {
  double sigma = 1;
  double lower = 0, upper = 0;  ///< lower <= 0 <= upper
};

/// dr/dx of one row with respect to one parameter.
struct Slope {
  size_t parameter = 0;
  double value = 0;
};

/// Residuals near `x`: r_i + sum of slopes times (x' - x).
struct Linearised {
  std::vector<double> x;
  std::vector<double> residuals;           ///< one a row; of rows without weight anything
  std::vector<std::vector<Slope>> slopes;  ///< one list a row
};

struct Problem {
  std::vector<double> weights;  ///< one a row; a row of weight 0 is not looked at
  std::vector<Bounds> bounds;   ///< one a parameter; lower == upper holds it where it starts
  double noise = 1, freedom = 4;
  std::function<std::vector<double>(std::span<const double> x)> residuals;
  std::function<Linearised(std::span<const double> x)> linearise;
  /// Told of the first cost and of every lower one, with the linearisations so far; may be empty.
  std::function<void(int iterations, double cost)> progress;
};

/// C(x), from the residuals at x.
double cost(const Problem& problem, std::span<const double> x, std::span<const double> residuals);

/// The x in the bounds that minimises C with residuals as `at` has them, `damping` 0; else C plus
/// damping * sum of h_j (x_j - at.x_j)^2, h the diagonal of half of C's Hessian (the step of
/// Levenberg and Marquardt).
/// Iteratively reweighted: a row weighs w_i / (1 + r_i^2 / (v s^2)) in the next solution.
std::vector<double> solve_linearised(const Problem& problem, const Linearised& at, double damping);

/// One standard deviation of every x_j at `at`: the root of the diagonal of the inverse of half of
/// C's Hessian, sum of w_i J_i J_i^T / s^2 plus priors. Without data it is sigma_j.
std::vector<double> standard_errors(const Problem& problem, const Linearised& at);

/// The whole matrix behind them, its lower triangle: row j has j + 1 entries.
std::vector<std::vector<double>> covariance(const Problem& problem, const Linearised& at);

/// How far the minimum moves from `at`, where it lies, when the residuals move by `by`: to first
/// order, -(half of C's Hessian)^-1 times the sum of w_i J_i by_i / s^2.
std::vector<double> displaced(const Problem& problem, const Linearised& at,
                              std::span<const double> by);

struct Fit {
  std::vector<double> x;
  Linearised at;  ///< at x, but with slopes from where the last step began
  std::vector<double> start_residuals;
  double start_cost = 0, cost = 0;
  int iterations = 0;
  bool converged = false;
};

/// Levenberg-Marquardt from `start`: linearise, solve, go there if C falls, else damp more. Slopes
/// are costly and change little, so they serve again as long as C falls by 2 % a step. Ends when C
/// falls by less than 1 in 1000 with slopes of the place, or after `iterations` linearisations.
Fit fit(const Problem& problem, std::vector<double> start, int iterations);

}  // namespace ergometer::calibration
