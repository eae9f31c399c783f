#include "calibration/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/collection.h"

namespace ergometer::calibration {
namespace {

constexpr int kReweightings = 40;
constexpr double kSettled = 1e-7;   ///< change of x that counts as none
constexpr double kGain = 1e-3;      ///< relative fall of the cost that is not worth another round
constexpr double kGoodGain = 0.02;  ///< relative fall of the cost that lets old slopes do again
constexpr double kFirstDamping = 1e-3;
constexpr double kLeastDamping = 1e-9, kMostDamping = 1e4;

struct Normal {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd right;
};

double square(double value) { return value * value; }

double robust_weight(const Problem& problem, double residual) {
  return 1 / (1 + square(residual / problem.noise) / problem.freedom);
}

/// Residual of row i when x moves by `step`.
double moved(const Linearised& at, size_t i, const Eigen::VectorXd& step) {
  double residual = at.residuals[i];
  for (const Slope& slope : at.slopes[i])
    residual += slope.value * step[static_cast<Eigen::Index>(slope.parameter)];
  return residual;
}

/// Half of C's Hessian (Gauss-Newton), and minus half of its gradient at `at`, with the rows'
/// robust weights taken at `step`.
Normal normal_equations(const Problem& problem, const Linearised& at, const Eigen::VectorXd& step) {
  const auto n = static_cast<Eigen::Index>(problem.bounds.size());
  Normal normal{Eigen::MatrixXd::Zero(n, n), Eigen::VectorXd::Zero(n)};
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    if (problem.weights[i] <= 0) continue;
    const double weight =
        problem.weights[i] * robust_weight(problem, moved(at, i, step)) / square(problem.noise);
    for (const Slope& a : at.slopes[i]) {
      const auto row = static_cast<Eigen::Index>(a.parameter);
      normal.right[row] -= weight * a.value * at.residuals[i];
      for (const Slope& b : at.slopes[i])
        normal.matrix(row, static_cast<Eigen::Index>(b.parameter)) += weight * a.value * b.value;
    }
  }
  for (Eigen::Index j = 0; j < n; ++j) {
    const auto at_j = static_cast<size_t>(j);
    const double precision = 1 / square(problem.bounds[at_j].sigma);
    normal.matrix(j, j) += precision;
    normal.right[j] -= precision * at.x[at_j];
  }
  return normal;
}

/// The step in the bounds: parameters that would leave them are held at the bound, the one that
/// leaves farthest first, and the rest is solved again.
Eigen::VectorXd bounded_solution(const Problem& problem, const Linearised& at,
                                 const Normal& normal) {
  const Eigen::Index n = normal.right.size();
  Eigen::VectorXd step = Eigen::VectorXd::Zero(n);
  std::vector<bool> held(static_cast<size_t>(n), false);
  for (Eigen::Index round = 0; round <= n; ++round) {
    std::vector<Eigen::Index> open;
    for (Eigen::Index j = 0; j < n; ++j)
      if (!held[static_cast<size_t>(j)]) open.push_back(j);
    if (open.empty()) break;
    const auto m = static_cast<Eigen::Index>(open.size());
    Eigen::MatrixXd matrix(m, m);
    Eigen::VectorXd right(m);
    for (Eigen::Index a = 0; a < m; ++a) {
      const Eigen::Index j = open[static_cast<size_t>(a)];
      right[a] = normal.right[j];
      for (Eigen::Index k = 0; k < n; ++k)
        if (held[static_cast<size_t>(k)]) right[a] -= normal.matrix(j, k) * step[k];
      for (Eigen::Index b = 0; b < m; ++b)
        matrix(a, b) = normal.matrix(j, open[static_cast<size_t>(b)]);
    }
    const Eigen::VectorXd solution = matrix.ldlt().solve(right);
    double farthest = 0;
    Eigen::Index leaver = -1;
    for (Eigen::Index a = 0; a < m; ++a) {
      const Eigen::Index j = open[static_cast<size_t>(a)];
      const Bounds& bounds = problem.bounds[static_cast<size_t>(j)];
      const double x = at.x[static_cast<size_t>(j)] + solution[a];
      const double beyond = std::max(bounds.lower - x, x - bounds.upper) / bounds.sigma;
      step[j] = solution[a];
      if (beyond > farthest || (bounds.lower == bounds.upper && beyond > 0)) {
        farthest = beyond;
        leaver = j;
      }
    }
    if (leaver < 0) break;
    const Bounds& bounds = problem.bounds[static_cast<size_t>(leaver)];
    const double x = at.x[static_cast<size_t>(leaver)];
    step[leaver] = std::clamp(x + step[leaver], bounds.lower, bounds.upper) - x;
    held[static_cast<size_t>(leaver)] = true;
  }
  return step;
}

}  // namespace

double cost(const Problem& problem, std::span<const double> x, std::span<const double> residuals) {
  double sum = 0;
  for (size_t i = 0; i < problem.weights.size(); ++i)
    if (problem.weights[i] > 0)
      sum += problem.weights[i] * problem.freedom *
             std::log1p(square(residuals[i] / problem.noise) / problem.freedom);
  for (size_t j = 0; j < problem.bounds.size(); ++j) sum += square(x[j] / problem.bounds[j].sigma);
  return sum;
}

std::vector<double> solve_linearised(const Problem& problem, const Linearised& at, double damping) {
  Eigen::VectorXd step = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(problem.bounds.size()));
  for (int round = 0; round < kReweightings; ++round) {
    Normal normal = normal_equations(problem, at, step);
    normal.matrix.diagonal() *= 1 + damping;
    const Eigen::VectorXd next = bounded_solution(problem, at, normal);
    const double change = (next - step).cwiseAbs().maxCoeff();
    step = next;
    if (change < kSettled) break;
  }
  std::vector<double> x = at.x;
  for (size_t j = 0; j < x.size(); ++j)
    x[j] = std::clamp(x[j] + step[static_cast<Eigen::Index>(j)], problem.bounds[j].lower,
                      problem.bounds[j].upper);
  return x;
}

std::vector<std::vector<double>> covariance(const Problem& problem, const Linearised& at) {
  const auto n = static_cast<Eigen::Index>(problem.bounds.size());
  const Normal normal = normal_equations(problem, at, Eigen::VectorXd::Zero(n));
  const Eigen::MatrixXd inverse = normal.matrix.ldlt().solve(Eigen::MatrixXd::Identity(n, n));
  std::vector<std::vector<double>> rows;
  for (Eigen::Index j = 0; j < n; ++j) {
    auto& row = rows.emplace_back();
    for (Eigen::Index k = 0; k <= j; ++k) row.push_back(inverse(j, k));
  }
  return rows;
}

std::vector<double> standard_errors(const Problem& problem, const Linearised& at) {
  return base::mapped(covariance(problem, at),
                      [](const std::vector<double>& row) { return std::sqrt(row.back()); });
}

std::vector<double> displaced(const Problem& problem, const Linearised& at,
                              std::span<const double> by) {
  const auto n = static_cast<Eigen::Index>(problem.bounds.size());
  const Normal normal = normal_equations(problem, at, Eigen::VectorXd::Zero(n));
  Eigen::VectorXd pull = Eigen::VectorXd::Zero(n);
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    if (problem.weights[i] <= 0) continue;
    const double weight =
        problem.weights[i] * robust_weight(problem, at.residuals[i]) / square(problem.noise);
    for (const Slope& slope : at.slopes[i])
      pull[static_cast<Eigen::Index>(slope.parameter)] -= weight * slope.value * by[i];
  }
  const Eigen::VectorXd moved = normal.matrix.ldlt().solve(pull);
  return {moved.begin(), moved.end()};
}

Fit fit(const Problem& problem, std::vector<double> start, int iterations) {
  Fit result;
  result.x = std::move(start);
  double damping = kFirstDamping;
  bool stale = true;  // the slopes are not those where the fit stands, or none
  bool linearise = true;
  while (!result.converged) {
    if (linearise) {
      if (result.iterations == iterations) break;
      result.at = problem.linearise(result.x);
      stale = linearise = false;
      if (result.iterations++ == 0) {
        result.start_residuals = result.at.residuals;
        result.cost = result.start_cost = cost(problem, result.x, result.at.residuals);
        if (problem.progress) problem.progress(result.iterations, result.cost);
      }
    }
    std::vector<double> x = solve_linearised(problem, result.at, damping);
    std::vector<double> residuals = problem.residuals(x);
    const double reached = cost(problem, x, residuals);
    const double gain = result.cost - reached;
    if (gain > 0) {
      result.x = result.at.x = std::move(x);
      result.at.residuals = std::move(residuals);
      result.cost = reached;
      if (problem.progress) problem.progress(result.iterations, reached);
      damping = std::max(damping / 10, kLeastDamping);
      result.converged = !stale && gain < kGain * result.cost;
      linearise = gain < kGoodGain * result.cost;
      stale = true;
    } else if (stale) {
      linearise = true;
    } else {
      result.converged = damping > kMostDamping || -gain < kSettled * result.cost;
      damping *= 10;
    }
  }
  return result;
}

}  // namespace ergometer::calibration
