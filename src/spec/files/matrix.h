#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/settings/settings.h"

namespace ergometer::spec {

/// One configuration of a study: a NeMo file and the job script that starts it, as a row of the
/// matrix tells them.
struct MatrixRow {
  std::string family;     ///< "optimization-sweep-h200"
  std::string config_id;  ///< "gpt3-175b_1_00000"
  std::string model;      ///< of the folder that the file lies in: "mixtral-8x7b"
  std::string yaml;       ///< path of the NeMo file in the study's artifact; unique
  std::vector<std::string>
      flags;  ///< defects that the matrix itself lists, "gbs-not-divisible", ...
  /// The job. Contradictions inside it (a batch that does not divide, ...) are found by
  /// `resolve()`.
  Settings settings;
  /// Why the row is not a job at all although its settings may make one: files that contradict each
  /// other.
  std::optional<std::string> refusal;
  /// All of them, the refusal first; each ends in its name in parentheses, "(wrong-model-dims)".
  std::vector<std::string> contradictions;
  /// What is odd but does not stand in the way: overlap that changes nothing, swapped labels,
  /// shared folders.
  std::vector<std::string> notes;
};

/// Reads a matrix of the form of `catalog/studies/charllm-matrix.csv`: a study's catalog name or a
/// CSV file. Nothing is taken from the `flags` column: what is wrong with a row is derived from its
/// other columns.
Result<std::vector<MatrixRow>> read_matrix(const std::string& name_or_path);
Result<std::vector<MatrixRow>> parse_matrix(std::string_view csv, const std::string& file);

}  // namespace ergometer::spec
