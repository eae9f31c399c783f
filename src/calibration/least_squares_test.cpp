#include "calibration/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::calibration {
namespace {

/// Rows r_i = a_i x_0 + b_i x_1 - c_i, linear, so one step is the answer.
struct Line {
  double a = 0, b = 0, c = 0;
};

Problem linear(const std::vector<Line>& lines, const std::vector<Bounds>& bounds, double noise,
               double freedom) {
  Problem problem;
  problem.weights.assign(lines.size(), 1.0);
  problem.bounds = bounds;
  problem.noise = noise;
  problem.freedom = freedom;
  problem.residuals = [lines](std::span<const double> x) {
    std::vector<double> residuals;
    for (const Line& it : lines)
      residuals.push_back(it.a * x[0] + (x.size() > 1 ? it.b * x[1] : 0) - it.c);
    return residuals;
  };
  problem.linearise = [lines, residuals = problem.residuals](std::span<const double> x) {
    Linearised at{{x.begin(), x.end()}, residuals(x), {}};
    for (const Line& it : lines) {
      at.slopes.push_back({{0, it.a}});
      if (x.size() > 1) at.slopes.back().push_back({1, it.b});
    }
    return at;
  };
  return problem;
}

constexpr double kNormal = 1e9;  // freedom so large that nothing is an outlier

TEST(LeastSquares, WeighsDataAgainstThePrior) {
  // One row says x = 0.3 within 0.1, the prior says x = 0 within 0.2.
  // Minimum of ((x - 0.3)/0.1)^2 + (x/0.2)^2: 100 (x - 0.3) + 25 x = 0, x = 30/125 = 0.24.
  // Standard error: 1 / sqrt(100 + 25).
  const Problem problem = linear({{1, 0, 0.3}}, {{0.2, -1, 1}}, 0.1, kNormal);
  const Fit found = fit(problem, {0}, 5);
  EXPECT_NEAR(found.x[0], 0.24, 1e-4);
  EXPECT_TRUE(found.converged);
  EXPECT_NEAR(standard_errors(problem, found.at)[0], 1 / std::sqrt(125.0), 1e-6);
}

TEST(LeastSquares, DisplacedAsTheRowsMove) {
  // Of the problem above, the row says 0.25 instead: x = 25/125 = 0.2, 0.04 less.
  const Problem problem = linear({{1, 0, 0.3}}, {{0.2, -1, 1}}, 0.1, kNormal);
  const Fit found = fit(problem, {0}, 5);
  EXPECT_NEAR(displaced(problem, found.at, std::vector<double>{0.05})[0], -0.04, 1e-9);
}

TEST(LeastSquares, WithoutDataThePriorStays) {
  Problem problem = linear({{1, 0, 0.3}}, {{0.2, -1, 1}}, 0.1, kNormal);
  problem.weights[0] = 0;
  const Fit found = fit(problem, {0}, 5);
  EXPECT_NEAR(found.x[0], 0, 1e-12);
  EXPECT_NEAR(standard_errors(problem, found.at)[0], 0.2, 1e-12);
}

TEST(LeastSquares, OneBoundHoldsAndTheOtherParameterMakesUpForIt) {
  // x_0 + x_1 = 1 and x_0 = 0.8 would give (0.8, 0.2); with x_0 <= 0.5 the first row is met by
  // x_1 = 0.5. Priors are too wide to count.
  const Problem problem =
      linear({{1, 1, 1}, {1, 0, 0.8}}, {{1e3, -1, 0.5}, {1e3, -1, 1}}, 0.1, kNormal);
  const Fit found = fit(problem, {0, 0}, 10);
  EXPECT_NEAR(found.x[0], 0.5, 1e-6);
  EXPECT_NEAR(found.x[1], 0.5, 1e-3);
}

TEST(LeastSquares, ABrokenRowDoesNotSteer) {
  // Nine rows say 0.1, one says 3. The mean is 0.39; the robust fit stays within 0.01 of 0.1.
  std::vector<Line> lines(9, {1, 0, 0.1});
  lines.push_back({1, 0, 3});
  const Problem problem = linear(lines, {{1e3, -10, 10}}, 0.05, 4);
  EXPECT_NEAR(fit(problem, {0}, 10).x[0], 0.1, 0.01);
}

TEST(LeastSquares, FindsANonlinearMinimum) {
  // r_i = log(exp(x_0) + exp(x_1) t_i) - log(2 + 0.5 t_i): zero at x = (log 2, log 0.5).
  const std::vector<double> t = {0, 1, 4, 10, 40};
  Problem problem;
  problem.weights.assign(t.size(), 1.0);
  problem.bounds = {{1e3, -5, 5}, {1e3, -5, 5}};
  problem.noise = 0.05;
  problem.freedom = 4;
  problem.residuals = [t](std::span<const double> x) {
    std::vector<double> residuals;
    for (const double it : t)
      residuals.push_back(std::log((std::exp(x[0]) + std::exp(x[1]) * it) / (2 + 0.5 * it)));
    return residuals;
  };
  problem.linearise = [t, residuals = problem.residuals](std::span<const double> x) {
    Linearised at{{x.begin(), x.end()}, residuals(x), {}};
    for (const double it : t) {
      const double whole = std::exp(x[0]) + std::exp(x[1]) * it;
      at.slopes.push_back({{0, std::exp(x[0]) / whole}, {1, std::exp(x[1]) * it / whole}});
    }
    return at;
  };
  const Fit found = fit(problem, {0, 0}, 30);
  EXPECT_NEAR(found.x[0], std::log(2), 1e-3);
  EXPECT_NEAR(found.x[1], std::log(0.5), 1e-3);
  EXPECT_LT(found.cost, found.start_cost);
}

}  // namespace
}  // namespace ergometer::calibration
