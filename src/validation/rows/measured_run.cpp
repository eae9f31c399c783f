#include "validation/rows/measured_run.h"

#include "base/file.h"

namespace ergometer::validation {
namespace {

constexpr size_t kLargestTable = 256 << 20;

}  // namespace

std::string_view MeasuredRun::cell(std::string_view column) const {
  const std::string_view text = table->cell(row, column);
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Result<std::vector<MeasuredRun>> parse_measured_runs(std::string_view csv,
                                                     const std::string& file) {
  ERGOMETER_ASSIGN(base::CsvTable parsed, base::parse_csv(csv, file));
  // Rows of power have columns of their own; what has neither set is told about runs.
  const bool has_power_rows =
      base::require_columns(parsed, file,
                            {"device", "workload", "config", "metric", "value", "unit"})
          .has_value();
  if (!has_power_rows) ERGOMETER_TRY(base::require_columns(parsed, file, {"model", "gpu", "gpus"}));
  if (parsed.rows.empty()) return input_error("{}: holds no measured run under its header", file);
  const auto table = std::make_shared<const base::CsvTable>(std::move(parsed));
  std::vector<MeasuredRun> runs;
  runs.reserve(table->rows.size());
  for (size_t row = 0; row < table->rows.size(); ++row)
    runs.push_back({table->rows[row].line, table, row});
  return runs;
}

Result<std::vector<MeasuredRun>> read_measured_runs(const std::string& path) {
  ERGOMETER_ASSIGN(const std::string text, base::read_file(path, kLargestTable));
  return parse_measured_runs(text, path);
}

}  // namespace ergometer::validation
