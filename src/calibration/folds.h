#pragma once

#include <cstddef>
#include <vector>

#include "calibration/sample.h"

namespace ergometer::calibration {

/// The fold of every sample, 0 to folds - 1. Rows of one group, and of one model on one GPU, are in
/// one fold, whatever chain of shared groups and series joins them; the sets so joined are dealt
/// out largest first, each to the fold that has fewest groups. The same rows, the same folds.
std::vector<size_t> assign_folds(const std::vector<Sample>& samples, size_t folds);

}  // namespace ergometer::calibration
