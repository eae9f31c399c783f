#include "analysis/math/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/collection.h"

namespace ergometer::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> column_norms(const Matrix& a) {
  std::vector<double> norms(a.columns);
  for (size_t row = 0; row < a.rows; ++row)
    for (size_t c = 0; c < a.columns; ++c) norms[c] += a.at(row, c) * a.at(row, c);
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

/// The columns' scalar products, every column first divided by its norm.
Matrix gram(const Matrix& a, const std::vector<double>& norms) {
  Matrix g(a.columns, a.columns);
  for (size_t row = 0; row < a.rows; ++row)
    for (size_t i = 0; i < a.columns; ++i)
      for (size_t j = 0; j < a.columns; ++j) g.at(i, j) += a.at(row, i) * a.at(row, j);
  for (size_t i = 0; i < a.columns; ++i)
    for (size_t j = 0; j < a.columns; ++j)
      if (norms[i] > 0 && norms[j] > 0) g.at(i, j) /= norms[i] * norms[j];
  return g;
}

/// Cholesky's factor of the chosen rows and columns; nothing when they are dependent.
std::optional<Matrix> factor(const Matrix& g, const std::vector<size_t>& chosen) {
  constexpr double kDependent = 1e-12;
  Matrix l(chosen.size(), chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = g.at(chosen[i], chosen[j]);
      for (size_t k = 0; k < j; ++k) sum -= l.at(i, k) * l.at(j, k);
      if (i == j && sum < kDependent) return std::nullopt;
      l.at(i, j) = i == j ? std::sqrt(sum) : sum / l.at(j, j);
    }
  }
  return l;
}

std::vector<double> solve(const Matrix& l, std::vector<double> b) {
  for (size_t i = 0; i < l.rows; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= l.at(i, k) * b[k];
    b[i] /= l.at(i, i);
  }
  for (size_t i = l.rows; i-- > 0;) {
    for (size_t k = i + 1; k < l.rows; ++k) b[i] -= l.at(k, i) * b[k];
    b[i] /= l.at(i, i);
  }
  return b;
}

/// The diagonal of the inverse; infinity everywhere when there is none.
std::vector<double> inverse_diagonal(const Matrix& g) {
  std::vector<size_t> all(g.rows);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto l = factor(g, all);
  std::vector<double> diagonal(g.rows, kInfinity);
  for (size_t i = 0; l && i < g.rows; ++i) {
    std::vector<double> unit(g.rows);
    unit[i] = 1;
    diagonal[i] = solve(*l, std::move(unit))[i];
  }
  return diagonal;
}

/// Lawson and Hanson's active sets on G x = h with x >= 0.
class ActiveSets {
 public:
  ActiveSets(const Matrix& g, const std::vector<double>& h) : g_(g), h_(h), x_(h.size()) {}

  std::vector<double> solve_all() {
    // Each round adds a column or drops one; a bound in case rounding makes two take turns.
    for (size_t round = 0; round < 10 * h_.size() && add_steepest(); ++round) {
      while (!step()) {}
    }
    return x_;
  }

 private:
  /// The column that would lower the residual most; false when none would.
  bool add_steepest() {
    constexpr double kFlat = 1e-12;
    const double scale = *std::ranges::max_element(h_);
    size_t best = h_.size();
    double steepest = kFlat * std::abs(scale);
    for (size_t i = 0; i < h_.size(); ++i) {
      if (base::contains(passive_, i)) continue;
      double slope = h_[i];
      for (size_t j = 0; j < h_.size(); ++j) slope -= g_.at(i, j) * x_[j];
      if (slope > steepest) {
        steepest = slope;
        best = i;
      }
    }
    if (best == h_.size()) return false;
    passive_.push_back(best);
    return true;
  }

  /// Goes to the passive columns' own solution, or as far as none turns negative; true when there.
  bool step() {
    const auto l = factor(g_, passive_);
    if (!l) {
      passive_.pop_back();
      return true;
    }
    std::vector<double> h = base::mapped(passive_, [&](size_t i) { return h_[i]; });
    const std::vector<double> wanted = solve(*l, std::move(h));
    double reach = 1;
    for (size_t i = 0; i < passive_.size(); ++i)
      if (wanted[i] <= 0) reach = std::min(reach, x_[passive_[i]] / (x_[passive_[i]] - wanted[i]));
    for (size_t i = 0; i < passive_.size(); ++i)
      x_[passive_[i]] += reach * (wanted[i] - x_[passive_[i]]);
    if (reach == 1) return true;
    std::erase_if(passive_, [&](size_t i) {
      if (x_[i] > 1e-15) return false;
      x_[i] = 0;
      return true;
    });
    return passive_.empty();
  }

  const Matrix& g_;
  const std::vector<double>& h_;
  std::vector<double> x_;
  std::vector<size_t> passive_;
};

}  // namespace

NonNegativeFit fit_non_negative(const Matrix& a, const std::vector<double>& b) {
  const std::vector<double> norms = column_norms(a);
  const Matrix g = gram(a, norms);
  std::vector<double> h(a.columns);
  for (size_t row = 0; row < a.rows; ++row)
    for (size_t c = 0; c < a.columns; ++c)
      if (norms[c] > 0) h[c] += a.at(row, c) * b[row] / norms[c];
  NonNegativeFit fit;
  fit.x = a.columns > 0 ? ActiveSets(g, h).solve_all() : std::vector<double>{};
  for (size_t c = 0; c < a.columns; ++c) fit.x[c] = norms[c] > 0 ? fit.x[c] / norms[c] : 0;
  double squares = 0;
  for (size_t row = 0; row < a.rows; ++row) {
    double residual = b[row];
    for (size_t c = 0; c < a.columns; ++c) residual -= a.at(row, c) * fit.x[c];
    squares += residual * residual;
  }
  if (a.rows > a.columns)
    fit.residual_rms = std::sqrt(squares / static_cast<double>(a.rows - a.columns));
  const std::vector<double> inverse = inverse_diagonal(g);
  for (size_t c = 0; c < a.columns; ++c)
    fit.error.push_back(norms[c] > 0 ? fit.residual_rms * std::sqrt(inverse[c]) / norms[c]
                                     : kInfinity);
  return fit;
}

std::vector<double> variance_inflation(const Matrix& a) {
  // A little more on the diagonal keeps columns that depend on each other from spoiling the rest.
  constexpr double kRidge = 1e-9;
  Matrix g = gram(a, column_norms(a));
  for (size_t c = 0; c < g.columns; ++c) g.at(c, c) += kRidge;
  return inverse_diagonal(g);
}

}  // namespace ergometer::analysis
