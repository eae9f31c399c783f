#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/table.h"
#include "base/text.h"
#include "study/charllm/charllm.h"
#include "study/output/output.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

using report::TextStyle;
using run::PointStatus;
using run::StudyColumn;
using Row = std::vector<std::string>;

/// Points of two families may share their id.
std::string name_of(const std::string& family, const std::string& id) {
  return family.empty() ? id : family + "/" + id;
}

/// Axes have columns of their own unless rows of a matrix, which have none, stand among the points.
std::vector<StudyColumn> axis_columns(const Definition& definition, const run::Study& study) {
  if (!definition.rows.empty()) return {};
  std::vector<StudyColumn> columns = run::study_columns(study);
  std::erase_if(columns, [](const auto& it) { return it.kind != StudyColumn::Kind::kAxis; });
  return columns;
}

bool has_families(const Definition& definition) {
  return std::any_of(definition.sets.begin(), definition.sets.end(),
                     [](const PointSet& set) { return !set.name.empty(); });
}

Row head_of(const Definition& definition, const std::vector<StudyColumn>& axes) {
  if (axes.empty()) return {"row"};
  Row head;
  if (has_families(definition)) head.push_back("set");
  for (const StudyColumn& axis : axes) head.push_back(axis.name);
  return head;
}

Row cells_of(const Definition& definition, const std::vector<StudyColumn>& axes,
             const run::StudyPoint& point) {
  if (axes.empty()) return {name_of(point.family, point.id)};
  Row cells;
  if (has_families(definition)) cells.push_back(point.family);
  for (const StudyColumn& axis : axes) {
    const auto label = point.axes.find(axis.key);
    cells.push_back(label == point.axes.end() ? "-" : label->second);
  }
  return cells;
}

/// A number of the summary as the table shows it, where nobody asked for other columns.
struct Shown {
  std::string_view title, name;
  std::string (*text)(double);
  bool always;  ///< else only where it moves
};
constexpr std::array kShown = std::to_array<Shown>({
    {"step", "performance.step_time_s", base::format_seconds, true},
    {"tokens/s", "performance.tokens_per_s",
     [](double rate) { return base::format_count(std::llround(rate)); }, true},
    {"memory", "memory.peak_bytes", base::format_binary_bytes, false},
    {"GPU power", "power.mean_w_per_gpu",
     [](double watts) { return fmt::format("{:.0f} W", watts); }, false},
    {"hottest", "thermal.max_gpu_c",
     [](double degrees) { return fmt::format("{:.1f} C", degrees); }, false},
});

std::string shown_text(const Shown& shown, const run::StudyPoint& point) {
  const auto found = point.values.find(std::string(shown.name));
  return found == point.values.end() ? "-" : shown.text(found->second);
}

/// Every text of the column but those of rows that have none.
std::set<std::string> texts_of(const Shown& shown, const run::Study& study) {
  std::set<std::string> texts;
  for (const run::StudyPoint& point : study.points) texts.insert(shown_text(shown, point));
  texts.erase("-");
  return texts;
}

/// What is the same in every row is told once.
std::string same_text(const run::Study& study) {
  std::string text;
  for (const Shown& shown : kShown)
    if (const auto texts = texts_of(shown, study); !shown.always && texts.size() == 1)
      text += fmt::format("{} {} {}", text.empty() ? "in every row:" : ",", shown.title,
                          *texts.begin());
  return text.empty() ? text : text + '\n';
}

/// Why rows are no jobs or do not fit: every reason once, with a number that stands in its rows.
class Reasons {
 public:
  explicit Reasons(const run::Study& study) {
    for (const run::StudyPoint& point : study.points)
      if (!point.reason.empty() && ++rows_[point.reason] == 1) order_.push_back(point.reason);
  }

  /// "refused (2)".
  std::string status(const run::StudyPoint& point) const {
    const std::string word(to_word(point.status));
    if (point.reason.empty()) return word;
    const auto found = std::find(order_.begin(), order_.end(), point.reason);
    return fmt::format("{} ({})", word, found - order_.begin() + 1);
  }

  std::string text(size_t width) const {
    std::string out;
    for (size_t i = 0; i < order_.size(); ++i) {
      const int64_t rows = rows_.at(order_[i]);
      out += base::hanging(fmt::format("{:>5}  ", fmt::format("({})", i + 1)),
                           order_[i] + (rows > 1 ? fmt::format(" ({} rows)", rows) : ""), width);
    }
    return out;
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, int64_t> rows_;
};

/// Rows under a head: `left` columns of text, then numbers. What is folded begins with `keys` of
/// them.
std::string rows_text(const std::vector<Row>& rows, size_t left, size_t keys,
                      const TextStyle& style) {
  std::string layout;
  for (size_t i = 0; i < rows.front().size(); ++i) layout += i < left ? "<4 " : "> ";
  layout.pop_back();
  base::Table table(layout);
  for (const Row& row : rows) table.add(row);
  return report::table_text(table, style, keys);
}

std::string moving_table(const Definition& definition, const run::Study& study,
                         const TextStyle& style) {
  const std::vector<StudyColumn> axes = axis_columns(definition, study);
  std::vector<const Shown*> numbers;
  for (const Shown& shown : kShown)
    if (shown.always || texts_of(shown, study).size() > 1) numbers.push_back(&shown);
  const Reasons reasons(study);
  std::vector<Row> rows = {head_of(definition, axes)};
  const size_t keys = rows[0].size();
  rows[0].emplace_back("status");
  for (const Shown* shown : numbers) rows[0].emplace_back(shown->title);
  for (const run::StudyPoint& point : study.points) {
    Row row = cells_of(definition, axes, point);
    row.emplace_back(reasons.status(point));
    for (const Shown* shown : numbers) row.push_back(shown_text(*shown, point));
    rows.push_back(std::move(row));
  }
  return rows_text(rows, keys + 1, keys, style) + reasons.text(style.width) + same_text(study);
}

/// A number whose column's name says its unit; bytes, which nobody reads as such, with theirs:
/// memory as its size is told, traffic as rates are.
std::string number_text(const std::string& name, double number) {
  constexpr double kCounted = 1000;
  if (name.find("bytes") != std::string::npos)
    return name.starts_with("links.") ? base::format_bytes(number)
                                      : base::format_binary_bytes(number);
  return std::fabs(number) < kCounted ? fmt::format("{:.4g}", number)
                                      : base::format_count(std::llround(number));
}

std::string cell_text(const StudyColumn& column, const run::StudyPoint& point) {
  const run::StudyCell cell = run::cell(point, column);
  if (const auto* number = std::get_if<double>(&cell)) return number_text(column.key, *number);
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "-" : *text;
}

std::string picked_table(const run::Study& study, const std::vector<StudyColumn>& columns,
                         const TextStyle& style) {
  std::string layout;
  Row head;
  for (const StudyColumn& column : columns) {
    layout += column.kind == StudyColumn::Kind::kValue ? "> " : "< ";
    head.push_back(column.name);
  }
  layout.pop_back();
  base::Table table(layout);
  table.add(std::move(head));
  for (const run::StudyPoint& point : study.points) {
    Row row;
    for (const StudyColumn& column : columns) row.push_back(cell_text(column, point));
    table.add(std::move(row));
  }
  return report::table_text(table, style);
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
    {"assumed to run under ", "assumed to run under other software than the first"},
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

std::string findings_text(const run::Study& study) {
  return study.findings.empty() ? ""
                                : fmt::format("findings: {} (--report and --json tell each)\n",
                                              agreement_text(study.findings));
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

std::string all_refused_text(const run::Study& study) {
  constexpr size_t kMost = 3;
  std::map<std::string, const std::string*> example;
  for (const run::StudyPoint& point : study.points) {
    if (point.status != PointStatus::kRefused) return "";
    example.emplace(subject(point.reason), &point.reason);
  }
  const std::map<std::string, int64_t> counts = refusals(study);
  std::vector<std::pair<std::string, int64_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = study.points.size() == 1
                         ? std::string("the only row is refused")
                         : fmt::format("all {} rows are refused", study.points.size());
  for (size_t i = 0; i < std::min(kMost, order.size()); ++i)
    text += fmt::format("\n  {:>5}  {}", order[i].second, *example[order[i].first]);
  if (order.size() > kMost)
    text += fmt::format("\n  reasons of other kinds: {}", order.size() - kMost);
  return text;
}

std::string points_text(const Definition& definition, const SessionResult& result,
                        const std::vector<StudyColumn>& columns, const TextStyle& style) {
  const run::Study& study = *result.run.study;
  const std::string table = columns.empty() ? moving_table(definition, study, style)
                                            : picked_table(study, columns, style);
  const std::string best = best_text(study, style);
  return table + count_text(study) + '\n' + refusals_text(study) + notes_text(study) +
         findings_text(study) + (best.empty() ? "" : '\n' + best);
}

std::string list_text(const Definition& definition, const Expansion& expansion,
                      const TextStyle& style) {
  run::Study known;
  known.axes = expansion.axes;
  const std::vector<StudyColumn> axes = axis_columns(definition, known);
  std::vector<Row> rows = {head_of(definition, axes)};
  rows[0].emplace_back("why it is not a job");
  for (const Point& point : expansion.points) {
    Row row = cells_of(definition, axes, described(point));
    row.push_back(point.refusal.value_or("-"));
    rows.push_back(std::move(row));
  }
  std::string out = rows_text(rows, rows[0].size(), rows[0].size() - 1, style) +
                    fmt::format("{} points", expansion.points.size());
  if (expansion.left_out > 0)
    out += fmt::format(", {} left out by constraints", expansion.left_out);
  return out + '\n';
}

}  // namespace ergometer::study
