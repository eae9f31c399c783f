#include "run/file/study_tables.h"

#include <algorithm>
#include <array>

#include "run/file/row_table.h"
#include "run/study_columns.h"
#include "run/study_json.h"
#include "run/study_values.h"

namespace ergometer::run {
namespace {

constexpr const char* kStudySchema = R"sql(
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE study_axes (position INTEGER PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL);
CREATE TABLE study_points (
  position INTEGER PRIMARY KEY, family TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL,
  reason TEXT, axes TEXT NOT NULL, settings TEXT NOT NULL, notes TEXT NOT NULL,
  summary TEXT);
CREATE TABLE study_figures (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL, label TEXT NOT NULL, title TEXT NOT NULL,
  caption TEXT NOT NULL, panel TEXT NOT NULL, reported TEXT NOT NULL, kind TEXT NOT NULL,
  x TEXT NOT NULL, y TEXT NOT NULL);
CREATE TABLE study_series (
  figure INTEGER NOT NULL, position INTEGER NOT NULL, series TEXT NOT NULL,
  PRIMARY KEY (figure, position)) WITHOUT ROWID;
CREATE TABLE study_findings (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, reported TEXT NOT NULL,
  source TEXT NOT NULL, predicted TEXT NOT NULL, why TEXT NOT NULL, agrees TEXT NOT NULL,
  points TEXT NOT NULL);
)sql";

constexpr auto figure_kind_word = [](FigureKind kind) {
  return kFigureKinds[static_cast<size_t>(kind)];
};
constexpr auto agreement_word = [](Agreement agrees) { return to_word(agrees); };

constexpr auto status_word = [](PointStatus status) { return to_word(status); };

constexpr RowTable kAxisTable("study_axes", "position", &StudyAxis::name,
                              AsJson(&StudyAxis::labels, text_list));
constexpr RowTable kPointTable("study_points", "position", &StudyPoint::family, &StudyPoint::id,
                               Word(&StudyPoint::status, status_word, PointStatus::kRefused),
                               OrNull(&StudyPoint::reason), AsJson(&StudyPoint::axes, text_map),
                               AsJson(&StudyPoint::settings, text_map),
                               AsJson(&StudyPoint::notes, text_list),
                               OrNull(&StudyPoint::summary_json));
constexpr RowTable kFigureTable("study_figures", "position", &Figure::id, &Figure::label,
                                &Figure::title, &Figure::caption, &Figure::panel, &Figure::reported,
                                Word(&Figure::kind, figure_kind_word, FigureKind::kHeatMap),
                                AsJson(&Figure::x, figure_axis), AsJson(&Figure::y, figure_axis));
constexpr RowTable kSeriesTable("study_series", "figure, position",
                                AsJson(Whole<FigureSeries>(), figure_series));
constexpr RowTable kFindingTable("study_findings", "position", &StudyFinding::id,
                                 &StudyFinding::title, &StudyFinding::reported,
                                 &StudyFinding::source, &StudyFinding::predicted,
                                 &StudyFinding::why,
                                 Word(&StudyFinding::agrees, agreement_word, Agreement::kNo),
                                 AsJson(&StudyFinding::points, number_list));

/// A name as SQL takes it, whatever it holds.
std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

/// The columns that a table of their own holds. Labels that are numbers become numbers there, so
/// that they compare as such; an axis' mixture of both keeps its words.
std::vector<StudyColumn> own_columns(const Study& study) {
  std::vector<StudyColumn> columns = study_columns(study);
  std::erase_if(columns, [](const StudyColumn& column) {
    return column.kind != StudyColumn::Kind::kAxis && column.kind != StudyColumn::Kind::kValue;
  });
  return columns;
}

/// `study_values`, and `points`, which joins it with what else is known of a point.
void create_values(Database& db, const std::vector<StudyColumn>& columns) {
  std::string table = "CREATE TABLE study_values (position INTEGER PRIMARY KEY";
  std::string axes, values;
  for (const StudyColumn& column : columns) {
    const bool axis = column.kind == StudyColumn::Kind::kAxis;
    table += ", " + sql_name(column.name) + (axis ? " NUMERIC" : " REAL");
    (axis ? axes : values) += ", v." + sql_name(column.name);
  }
  db.execute((table + ')').c_str());
  db.execute(("CREATE VIEW points AS SELECT position" + axes +
              ", nullif(p.family, '') AS family, p.id, p.status, p.reason" + values +
              " FROM study_points p JOIN study_values v USING (position) ORDER BY position")
                 .c_str());
}

void insert_values(Database& db, const Study& study) {
  const std::vector<StudyColumn> columns = own_columns(study);
  create_values(db, columns);
  std::string sql = "INSERT INTO study_values VALUES (?";
  for (size_t i = 0; i < columns.size(); ++i) sql += ", ?";
  Statement insert(db, (sql + ')').c_str());
  for (size_t i = 0; i < study.points.size(); ++i) {
    insert.clear();
    insert.bind(1, static_cast<int64_t>(i));
    for (size_t c = 0; c < columns.size(); ++c) {
      const StudyCell it = cell(study.points[i], columns[c]);
      const int index = static_cast<int>(c) + 2;
      if (const auto* number = std::get_if<double>(&it)) insert.bind(index, *number);
      if (const auto* text = std::get_if<std::string>(&it)) insert.bind(index, *text);
    }
    insert.step();
  }
}

void select_texts(Database& db, Study& study) {
  Statement select(db, "SELECT key, value FROM study");
  while (select.step()) {
    const std::string key = select.text(0);
    if (key == "name") study.name = select.text(1);
    if (key == "title") study.title = select.text(1);
    if (key == "question") study.question = select.text(1);
  }
}

bool select_points(Database& db, Study& study) {
  const bool whole = kPointTable.select(db, study.points);
  for (StudyPoint& point : study.points) point.values = study_values(point.summary_json);
  return whole;
}

bool refers_to_points(const std::vector<int64_t>& points, const Study& study) {
  return std::ranges::all_of(points, [&](int64_t point) {
    return point >= -1 && point < static_cast<int64_t>(study.points.size());
  });
}

bool select_figures(Database& db, Study& study) {
  return kFigureTable.select(db, study.figures) &&
         kSeriesTable.select_each(db, study.figures, &Figure::series) &&
         std::ranges::all_of(study.figures, [&](const Figure& figure) {
           return std::ranges::all_of(figure.series, [&](const FigureSeries& series) {
             return refers_to_points(series.point, study);
           });
         });
}

bool select_findings(Database& db, Study& study) {
  return kFindingTable.select(db, study.findings) &&
         std::ranges::all_of(study.findings, [&](const StudyFinding& finding) {
           return refers_to_points(finding.points, study);
         });
}

}  // namespace

void create_study_tables(Database& db) { db.execute(kStudySchema); }

void insert_study(Database& db, const Study& study) {
  Statement text(db, "INSERT INTO study VALUES (?, ?)");
  text.run("name", study.name);
  text.run("title", study.title);
  text.run("question", study.question);
  kAxisTable.insert(db, study.axes);
  kPointTable.insert(db, study.points);
  insert_values(db, study);
  kFigureTable.insert(db, study.figures);
  kSeriesTable.insert_each(db, study.figures, &Figure::series);
  kFindingTable.insert(db, study.findings);
}

bool select_study(Database& db, Run& run) {
  if (!db.has_table("study")) return true;
  for (const char* table :
       {"study_axes", "study_points", "study_figures", "study_series", "study_findings"})
    if (!db.has_table(table)) return false;
  Study study;
  select_texts(db, study);
  const bool whole = kAxisTable.select(db, study.axes) && select_points(db, study) &&
                     select_figures(db, study) && select_findings(db, study);
  if (whole) run.study = std::move(study);
  return whole;
}

}  // namespace ergometer::run
