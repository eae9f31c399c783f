#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "calibration/calibrate.h"

namespace ergometer::calibration {

/// For people: every parameter with its prior, value, standard error and how well it is
/// determined; warnings; then errors before the fit, fitted and cross-validated.
std::string to_text(const ParameterList& list, const Calibration& calibration);
std::string to_json(const ParameterList& list, const Calibration& calibration);
/// id,group,source,fold,measured,predicted_fit,predicted_cv; seconds.
std::string cross_validation_csv(const Calibration& calibration);
/// id,group,source,software,measured,predicted,low,high of the rows predicted without their source;
/// seconds.
std::string left_out_csv(const Calibration& calibration);

/// A catalog file and what becomes of it.
struct ChangedFile {
  std::string path;  ///< in the catalog's folder: "kernels/hopper.yaml"
  std::string text;
};
/// What kinds of runs were fitted, and how far cross-validated predictions lie from them: the
/// tables that prediction intervals are made from, "tables/evidence.csv" and
/// "tables/uncertainty.csv". Of the second only the term `base` changes: the deviation that holds
/// nine groups' rows in ten inside 1.645 of it.
Result<std::vector<ChangedFile>> evidence_files(const Calibration& calibration);

/// The catalog files with the fitted values in place; `truth` names the rows' files in the sources.
Result<std::vector<ChangedFile>> changed_files(const ParameterList& list,
                                               const Calibration& calibration,
                                               const std::string& truth);

}  // namespace ergometer::calibration
