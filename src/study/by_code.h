#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/predict.h"

namespace ergometer::study {

/// What a study of the catalog has beyond its file, made by a program. Every member may be null.
struct StudyCode {
  std::string_view name;
  Result<std::vector<Point>> (*points)();                               ///< behind the file's own
  std::vector<run::Figure> (*figures)(const run::Study& study);         ///< behind the file's own
  std::vector<run::StudyFinding> (*findings)(const run::Study& study);  ///< all points are there
};

/// By the study's name; null when its file says everything.
const StudyCode* code_of(std::string_view study);

}  // namespace ergometer::study
