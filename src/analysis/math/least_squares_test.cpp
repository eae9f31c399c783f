#include "analysis/math/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ergometer::analysis {
namespace {

Matrix matrix(size_t columns, std::vector<double> values) {
  Matrix a(values.size() / columns, columns);
  a.values = std::move(values);
  return a;
}

// Windows half gemm and half idle at 400 W, all gemm at 700 W, all idle at 100 W.
TEST(LeastSquares, SolveWhatFitsExactly) {
  const auto fit = fit_non_negative(matrix(2, {0.5, 0.5, 1, 0, 0, 1}), {400, 700, 100});
  EXPECT_NEAR(fit.x[0], 700, 1e-9);
  EXPECT_NEAR(fit.x[1], 100, 1e-9);
  EXPECT_NEAR(fit.residual_rms, 0, 1e-9);
}

// One column of ones, readings 1 2 3: the mean 2, residuals -1 0 1, rms sqrt(2 / 2) = 1, standard
// error of a mean of three 1 / sqrt(3).
TEST(LeastSquares, ErrorOfAMean) {
  const auto fit = fit_non_negative(matrix(1, {1, 1, 1}), {1, 2, 3});
  EXPECT_NEAR(fit.x[0], 2, 1e-12);
  EXPECT_NEAR(fit.residual_rms, 1, 1e-12);
  EXPECT_NEAR(fit.error[0], 1 / std::sqrt(3.0), 1e-12);
}

// Without the bound x = (2, -1); with it the second stays at 0 and the first is the best alone:
// (1 x 1 + 1 x 2 + 0 x -1) / 2 = 1.5.
TEST(LeastSquares, NothingTurnsNegative) {
  const Matrix a = matrix(2, {1, 1, 1, 0, 0, 1});
  const auto fit = fit_non_negative(a, {1, 2, -1});
  EXPECT_NEAR(fit.x[0], 1.5, 1e-12);
  EXPECT_EQ(fit.x[1], 0);
}

TEST(LeastSquares, InflationTellsColumnsThatAreMadeUpOfOthers) {
  const auto orthogonal = variance_inflation(matrix(2, {1, 0, 0, 1}));
  EXPECT_NEAR(orthogonal[0], 1, 1e-6);
  // Cosine 1 / sqrt(2): 1 / (1 - 1/2) = 2.
  const auto slanted = variance_inflation(matrix(2, {1, 1, 0, 1}));
  EXPECT_NEAR(slanted[0], 2, 1e-6);
  // The first two are one, the third is none of their business.
  const auto dependent = variance_inflation(matrix(3, {1, 2, 0, 1, 2, 0, 0, 0, 1}));
  EXPECT_GT(dependent[0], 1e6);
  EXPECT_GT(dependent[1], 1e6);
  EXPECT_NEAR(dependent[2], 1, 1e-6);
}

}  // namespace
}  // namespace ergometer::analysis
