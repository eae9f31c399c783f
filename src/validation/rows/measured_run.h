#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/result.h"

namespace ergometer::validation {

/// One measured run as its row has it, in the columns of
/// `tests/validation/truth/training_runs.csv`. Cells are text; blank ones were not published.
struct MeasuredRun {
  int64_t line = 0;                             ///< of the file
  std::shared_ptr<const base::CsvTable> table;  ///< the rows of one file share it
  size_t row = 0;                               ///< in the table

  /// The cell without blanks around it; empty if it is blank or the file has no such column.
  std::string_view cell(std::string_view column) const;
};

/// The rows of a file. A row that makes no job is no error here: `make_job` says why. What is wrong
/// with the file itself (no such file, cells that do not fit the header, no column model, gpu or
/// gpus) is an input error with file and line.
Result<std::vector<MeasuredRun>> read_measured_runs(const std::string& path);
/// The same from text; `file` is what messages call it.
Result<std::vector<MeasuredRun>> parse_measured_runs(std::string_view csv, const std::string& file);

}  // namespace ergometer::validation
