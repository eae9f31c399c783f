#pragma once

#include <vector>

#include "analysis/energy/power_windows.h"
#include "analysis/energy/work_shares.h"
#include "analysis/math/least_squares.h"

namespace ergometer::analysis {

/// Classes that are told from each other, and the windows they are told by.
struct PowerProblem {
  std::vector<std::vector<size_t>> groups;  ///< of classes
  Matrix fractions{0, 0};                   ///< a row a window, a column a group
  std::vector<double> watts;
};

/// Every class alone, but those below a hundredth of the time as one; then the group that is most
/// nearly made up of others joins the one most like it, until all can be told apart (variance
/// inflation of at most 100).
PowerProblem separable(const WorkShares& work, const std::vector<PowerWindow>& windows);

}  // namespace ergometer::analysis
