#include "analysis/energy/power_problem.h"

#include <algorithm>
#include <cmath>

namespace ergometer::analysis {
namespace {

constexpr double kMostInflation = 100, kSmallShare = 0.01;

/// The classes' share of every window.
Matrix fractions_of(const WorkShares& work, const std::vector<PowerWindow>& windows) {
  Matrix fractions(windows.size(), work.names().size());
  size_t from = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    const double length = static_cast<double>(windows[i].end_ns - windows[i].start_ns);
    for_each_between(work.timeline(), from, windows[i].start_ns, windows[i].end_ns,
                     [&](uint32_t set, int64_t ns) {
                       for (const WorkShare& s : work.shares(set))
                         fractions.at(i, s.work) += s.weight * static_cast<double>(ns) / length;
                     });
  }
  return fractions;
}

Matrix grouped(const Matrix& fractions, const std::vector<std::vector<size_t>>& groups) {
  Matrix sums(fractions.rows, groups.size());
  for (size_t row = 0; row < fractions.rows; ++row)
    for (size_t g = 0; g < groups.size(); ++g)
      for (const size_t c : groups[g]) sums.at(row, g) += fractions.at(row, c);
  return sums;
}

double mean_of_column(const Matrix& a, size_t column) {
  double sum = 0;
  for (size_t row = 0; row < a.rows; ++row) sum += a.at(row, column);
  return a.rows > 0 ? sum / static_cast<double>(a.rows) : 0;
}

/// Each class alone, but those too small to be seen as one group.
std::vector<std::vector<size_t>> first_groups(const Matrix& fractions) {
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> small;
  for (size_t c = 0; c < fractions.columns; ++c) {
    const double share = mean_of_column(fractions, c);
    if (share >= kSmallShare) {
      groups.push_back({c});
    } else if (share > 0) {
      small.push_back(c);
    }
  }
  if (!small.empty()) groups.push_back(small);
  return groups;
}

double cosine(const Matrix& a, size_t i, size_t j) {
  double product = 0, ii = 0, jj = 0;
  for (size_t row = 0; row < a.rows; ++row) {
    product += a.at(row, i) * a.at(row, j);
    ii += a.at(row, i) * a.at(row, i);
    jj += a.at(row, j) * a.at(row, j);
  }
  return ii > 0 && jj > 0 ? product / std::sqrt(ii * jj) : 0;
}

}  // namespace

PowerProblem separable(const WorkShares& work, const std::vector<PowerWindow>& windows) {
  const Matrix fractions = fractions_of(work, windows);
  PowerProblem problem;
  problem.groups = first_groups(fractions);
  for (const PowerWindow& window : windows) problem.watts.push_back(window.watts);
  for (;;) {
    problem.fractions = grouped(fractions, problem.groups);
    if (problem.groups.size() < 2) return problem;
    const std::vector<double> inflation = variance_inflation(problem.fractions);
    const auto worst = std::ranges::max_element(inflation);
    if (*worst <= kMostInflation) return problem;
    const auto joined = static_cast<size_t>(worst - inflation.begin());
    size_t partner = joined == 0 ? 1 : 0;
    for (size_t g = 0; g < problem.groups.size(); ++g)
      if (g != joined &&
          cosine(problem.fractions, joined, g) > cosine(problem.fractions, joined, partner))
        partner = g;
    auto& into = problem.groups[std::min(joined, partner)];
    auto& from = problem.groups[std::max(joined, partner)];
    into.insert(into.end(), from.begin(), from.end());
    problem.groups.erase(problem.groups.begin() +
                         static_cast<std::ptrdiff_t>(std::max(joined, partner)));
  }
}

}  // namespace ergometer::analysis
