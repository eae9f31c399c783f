#include "study/output/pick_columns.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "run/study_values.h"

namespace ergometer::study {
namespace {

using run::StudyColumn;

/// By the part behind the last dot as well: people type "max_gpu_c" for "thermal.max_gpu_c".
std::optional<std::string> meant(std::string_view name, const std::vector<StudyColumn>& columns) {
  std::vector<std::string_view> whole, last;
  for (const StudyColumn& column : columns) {
    whole.push_back(column.name);
    last.push_back(base::last_part(column.name, '.'));
  }
  for (const auto& candidates : {whole, last})
    if (const auto near = base::nearest(name, candidates))
      return columns[static_cast<size_t>(std::find(candidates.begin(), candidates.end(), *near) -
                                         candidates.begin())]
          .name;
  return std::nullopt;
}

}  // namespace

Result<std::vector<StudyColumn>> pick_columns(std::string_view list, const run::Study& study) {
  std::vector<StudyColumn> columns = run::study_columns(study);
  if (list.empty()) return columns;
  std::vector<StudyColumn> picked;
  std::set<std::string> seen;
  for (const std::string& name : base::split(list, ',')) {
    if (!seen.insert(name).second)
      return input_error("--columns: found {} twice; allowed: once", name);
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const auto& column) { return column.name == name; });
    if (found != columns.end()) {
      picked.push_back(*found);
    } else if (run::is_study_value(name)) {
      picked.push_back({StudyColumn::Kind::kValue, name, name});
    } else {
      return input_error(
          "--columns: found \"{}\"; allowed: names of columns{} (all of them: docs/json.md, and "
          "the first line of --csv -)",
          name, base::did_you_mean(meant(name, columns)));
    }
  }
  return picked;
}

}  // namespace ergometer::study
