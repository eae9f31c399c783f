#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "validation/predict.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation::test {

/// The only row of a file with these columns and cells.
inline MeasuredRun row(const std::string& columns, const std::string& cells) {
  const auto runs = parse_measured_runs(columns + "\n" + cells + "\n", "t.csv");
  EXPECT_TRUE(runs) << runs.error().message;
  return runs->front();
}

/// Rows and what was predicted for them.
struct Case {
  std::vector<MeasuredRun> runs;
  std::vector<Prediction> predictions;
};

}  // namespace ergometer::validation::test
