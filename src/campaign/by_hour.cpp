#include "campaign/by_hour.h"

#include "base/csv.h"
#include "base/text.h"

namespace ergometer::campaign {

Result<std::vector<double>> parse_by_hour(std::string_view csv, const std::string& file,
                                          std::string_view column,
                                          const spec::MeasureRange& range) {
  ERGOMETER_ASSIGN(const base::CsvTable table, base::parse_csv(csv, file));
  ERGOMETER_TRY(base::require_columns(table, file, {"hour", column}));
  std::vector<double> values;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const int64_t line = table.rows[i].line;
    const std::string hour(table.cell(i, "hour"));
    const auto number = base::parse_integer(hour);
    if (!number || *number != static_cast<int64_t>(i))
      return input_error("{}:{}: hour is '{}'; allowed: {}, hours follow each other from 0", file,
                         line, hour, i);
    const auto value = range.read(table.cell(i, column));
    if (!value) return input_error("{}:{}: {}: {}", file, line, column, value.error().message);
    values.push_back(*value);
  }
  if (values.empty()) return input_error("{}: holds no hour", file);
  return values;
}

}  // namespace ergometer::campaign
