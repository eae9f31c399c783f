#include "base/csv.h"
#include "base/json_writer.h"
#include "study/output/output.h"

namespace ergometer::study {

std::string points_csv(const run::Study& study, const std::vector<run::StudyColumn>& columns) {
  std::vector<std::string> cells;
  for (const run::StudyColumn& column : columns) cells.push_back(column.name);
  std::string text = base::csv_line(cells);
  for (const run::StudyPoint& point : study.points) {
    cells.clear();
    for (const run::StudyColumn& column : columns) {
      const run::StudyCell cell = run::cell(point, column);
      const auto* number = std::get_if<double>(&cell);
      const auto* words = std::get_if<std::string>(&cell);
      cells.push_back(number != nullptr  ? base::shortest(*number)
                      : words != nullptr ? *words
                                         : std::string());
    }
    text += base::csv_line(cells);
  }
  return text;
}

}  // namespace ergometer::study
