#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "study/file/definition.h"
#include "study/predict.h"

namespace ergometer::study {

/// Every point of a study, in order: the matrix' rows, the sets' products (their first axis varies
/// slowest), what the study's code adds; each of them once for every seed.
struct Expansion {
  std::vector<run::StudyAxis> axes;
  std::vector<Point> points;
  size_t left_out = 0;  ///< by constraints
};
Result<Expansion> expand(const Definition& definition);

/// The rows of the study's matrix: what its corrections say is changed and noted, and the defects
/// that they name no longer stand in the way.
Result<std::vector<Point>> matrix_points(const Definition& definition);

/// 16 hexadecimal digits that differ when points, program or catalog do: whether a file was made
/// by this study.
std::string fingerprint(const Definition& definition, const Expansion& expansion);

}  // namespace ergometer::study
