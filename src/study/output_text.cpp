#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "study/output.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

using run::PointStatus;
using Row = std::vector<std::string>;

/// Points of two families may share their id.
std::string name_of(const std::string& family, const std::string& id) {
  return family.empty() ? id : family + "/" + id;
}

/// Axes have columns of their own unless rows of a matrix, which have none, stand among the points.
std::vector<std::string> axis_columns(const Definition& definition,
                                      const std::vector<run::StudyAxis>& axes) {
  std::vector<std::string> names;
  if (!definition.rows.empty()) return names;
  for (const run::StudyAxis& axis : axes) names.push_back(axis.name);
  return names;
}

bool has_families(const Definition& definition) {
  return std::any_of(definition.sets.begin(), definition.sets.end(),
                     [](const PointSet& set) { return !set.name.empty(); });
}

Row head_of(const Definition& definition, const std::vector<std::string>& axes) {
  if (axes.empty()) return {"row"};
  Row head;
  if (has_families(definition)) head.push_back("set");
  for (const std::string& axis : axes) head.push_back(axis);
  return head;
}

Row cells_of(const Definition& definition, const std::vector<std::string>& axes,
             const run::StudyPoint& point) {
  if (axes.empty()) return {name_of(point.family, point.id)};
  Row cells;
  if (has_families(definition)) cells.push_back(point.family);
  for (const std::string& axis : axes) {
    const auto label = point.axes.find(axis);
    cells.push_back(label == point.axes.end() ? "-" : label->second);
  }
  return cells;
}

/// Columns as wide as their widest cell, two blanks between them.
class Table {
 public:
  explicit Table(Row head) { add(std::move(head), "status"); }
  void add(Row cells, std::string rest) {
    widths_.resize(std::max(widths_.size(), cells.size()), 4);
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.emplace_back(std::move(cells), std::move(rest));
  }
  void set_head_rest(std::string rest) { rows_.front().second = std::move(rest); }
  std::string text() const {
    std::string out;
    for (const auto& [cells, rest] : rows_) {
      for (size_t i = 0; i < cells.size(); ++i)
        out += fmt::format("{:<{}}  ", cells[i], widths_[i]);
      out += rest + '\n';
    }
    return out;
  }

 private:
  std::vector<size_t> widths_;
  std::vector<std::pair<Row, std::string>> rows_;
};

std::string result_text(const run::StudyPoint& point) {
  const bool known = point.status != PointStatus::kRefused;
  const auto value = [&](const char* name) {
    const auto found = point.values.find(name);
    return found == point.values.end() ? 0 : found->second;
  };
  return fmt::format(
      "{:<12}  {:>9}  {:>9}  {:>10}{}{}", to_word(point.status),
      known ? base::format_seconds(value("performance.step_time_s")) : "-",
      known ? base::format_count(std::llround(value("performance.tokens_per_s"))) : "-",
      known ? base::format_binary_bytes(value("memory.peak_bytes")) : "-",
      point.reason.empty() ? "" : "  ", point.reason);
}

/// What a subject of a refusal is called.
std::string subject(const std::string& reason) {
  const size_t open = reason.rfind('(');
  if (reason.ends_with(')') && reason.find(' ', open) == std::string::npos)
    return reason.substr(open + 1, reason.size() - open - 2);
  const size_t file = reason.find(": ");
  const size_t start = file == std::string::npos ? 0 : file + 2;
  return reason.substr(start, reason.find_first_of(" :", start) - start);
}

std::string refusals_text(const run::Study& study) {
  std::string text;
  for (const auto& [what, count] : refusals(study))
    text += fmt::format("  {:>5}  {}\n", count, what);
  return text.empty() ? text : "refused for\n" + text;
}

/// Kinds of notes that are worth a count.
struct NoteKind {
  std::string_view begins, what;
};
constexpr std::array kNoteKinds = std::to_array<NoteKind>({
    {"corrected: ", "corrected"},
    {"the same job as ", "the same job as an earlier one"},
    {"the same result as ", "settings without effect"},
});

std::string notes_text(const run::Study& study) {
  std::string text;
  for (const NoteKind& kind : kNoteKinds) {
    const auto count = std::count_if(study.points.begin(), study.points.end(), [&](const auto& p) {
      return std::any_of(p.notes.begin(), p.notes.end(),
                         [&](const std::string& note) { return note.starts_with(kind.begins); });
    });
    if (count > 0) text += fmt::format("  {:>5}  {}\n", count, kind.what);
  }
  return text.empty() ? text : "noted (--json tells each)\n" + text;
}

}  // namespace

std::map<std::string, int64_t> refusals(const run::Study& study) {
  std::map<std::string, int64_t> counts;
  for (const run::StudyPoint& point : study.points)
    if (point.status == PointStatus::kRefused) ++counts[subject(point.reason)];
  return counts;
}

std::string count_text(const run::Study& study) {
  const auto count = [&](PointStatus status) {
    return std::count_if(study.points.begin(), study.points.end(),
                         [&](const run::StudyPoint& p) { return p.status == status; });
  };
  return fmt::format("{} rows: {} ok, {} do not fit, {} refused", study.points.size(),
                     count(PointStatus::kOk), count(PointStatus::kDoesNotFit),
                     count(PointStatus::kRefused));
}

std::string points_text(const Definition& definition, const SessionResult& result) {
  const run::Study& study = *result.run.study;
  const std::vector<std::string> axes = axis_columns(definition, study.axes);
  Table table(head_of(definition, axes));
  table.set_head_rest(fmt::format("{:<12}  {:>9}  {:>9}  {:>10}  {}", "status", "step", "tokens/s",
                                  "memory", "reason"));
  for (const run::StudyPoint& point : study.points)
    table.add(cells_of(definition, axes, point), result_text(point));
  return table.text() + count_text(study) + '\n' + refusals_text(study) + notes_text(study);
}

std::string list_text(const Definition& definition, const Expansion& expansion) {
  const std::vector<std::string> axes = axis_columns(definition, expansion.axes);
  Table table(head_of(definition, axes));
  table.set_head_rest("why it is not a job");
  for (const Point& point : expansion.points)
    table.add(cells_of(definition, axes, described(point)), point.refusal.value_or("-"));
  std::string out = table.text() + fmt::format("{} points", expansion.points.size());
  if (expansion.left_out > 0)
    out += fmt::format(", {} left out by constraints", expansion.left_out);
  return out + '\n';
}

}  // namespace ergometer::study
