#pragma once

#include <cstddef>
#include <vector>

namespace ergometer::analysis {

/// A small dense matrix, row by row.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<double> values;

  Matrix(size_t row_count, size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  double& at(size_t row, size_t column) { return values[row * columns + column]; }
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

/// x >= 0 that minimises |A x - b|, by the active sets of Lawson and Hanson (Solving Least Squares
/// Problems, 1974, chapter 23) on the normal equations: for tens of columns that are not collinear.
struct NonNegativeFit {
  std::vector<double> x;
  /// Standard errors of an unconstrained fit with the residuals found: those of x > 0 are a little
  /// too large where another x is held at 0.
  std::vector<double> error;
  double residual_rms = 0;  ///< with rows - columns degrees of freedom
};
NonNegativeFit fit_non_negative(const Matrix& a, const std::vector<double>& b);

/// For each column, how much larger its variance is than if it were orthogonal to the others (the
/// uncentred variance inflation factor); millions where the others make it up.
std::vector<double> variance_inflation(const Matrix& a);

}  // namespace ergometer::analysis
