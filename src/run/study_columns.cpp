#include "run/study_columns.h"

#include <set>
#include <utility>

#include "base/text.h"
#include "run/summary_fields.h"

namespace ergometer::run {
namespace {

using Kind = StudyColumn::Kind;

/// The summary's numbers, then what else points have.
std::vector<std::string> value_names(const Study& study) {
  std::vector<std::string> names;
  std::set<std::string> others;
  for (const StudyPoint& point : study.points)
    for (const auto& [name, value] : point.values) others.insert(name);
  for (const SummaryField& field : summary_fields()) {
    names.emplace_back(field.name);
    others.erase(names.back());
  }
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

StudyCell text_cell(const std::string& text) {
  return text.empty() ? StudyCell() : StudyCell(text);
}

}  // namespace

std::vector<StudyColumn> study_columns(const Study& study) {
  std::vector<StudyColumn> rest = {{Kind::kFamily, "", "family"},
                                   {Kind::kId, "", "id"},
                                   {Kind::kStatus, "", "status"},
                                   {Kind::kReason, "", "reason"}};
  for (const std::string& name : value_names(study)) rest.push_back({Kind::kValue, name, name});
  std::set<std::string> taken = {"position"};
  for (const StudyColumn& column : rest) taken.insert(base::lower(column.name));
  std::vector<StudyColumn> columns;
  for (const StudyAxis& axis : study.axes) {
    std::string name = axis.name;
    while (!taken.insert(base::lower(name)).second) name.insert(0, "axis.");
    columns.push_back({Kind::kAxis, axis.name, std::move(name)});
  }
  columns.insert(columns.end(), rest.begin(), rest.end());
  return columns;
}

StudyCell cell(const StudyPoint& point, const StudyColumn& column) {
  switch (column.kind) {
    case Kind::kAxis: {
      const auto label = point.axes.find(column.key);
      return label == point.axes.end() ? StudyCell() : text_cell(label->second);
    }
    case Kind::kFamily: return text_cell(point.family);
    case Kind::kId: return point.id;
    case Kind::kStatus: return std::string(to_word(point.status));
    case Kind::kReason: return text_cell(point.reason);
    case Kind::kValue: {
      const auto value = point.values.find(column.key);
      return value == point.values.end() ? StudyCell() : StudyCell(value->second);
    }
  }
  return {};
}

std::string_view to_word(Agreement agreement) {
  switch (agreement) {
    case Agreement::kYes: return "yes";
    case Agreement::kInPart: return "in part";
    case Agreement::kNo: return "no";
  }
  return "";
}

std::string_view to_word(PointStatus status) {
  switch (status) {
    case PointStatus::kOk: return "ok";
    case PointStatus::kDoesNotFit: return "does-not-fit";
    case PointStatus::kRefused: return "refused";
  }
  return "";
}

}  // namespace ergometer::run
