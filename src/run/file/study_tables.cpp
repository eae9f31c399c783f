#include "run/file/study_tables.h"

#include <algorithm>
#include <array>

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

// In the order of their enumerations.
constexpr std::array<std::string_view, 5> kFigureKinds = {"line", "bar", "stack", "scatter",
                                                          "heat-map"};
constexpr std::array<std::string_view, 3> kAgreements = {"yes", "in part", "no"};

template <class Enum, size_t N>
bool read_word(const std::array<std::string_view, N>& words, const std::string& word, Enum& value) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return false;
  value = static_cast<Enum>(found - words.begin());
  return true;
}

template <class Enum, size_t N>
std::string_view word_of(const std::array<std::string_view, N>& words, Enum value) {
  return words[static_cast<size_t>(value)];
}

bool read_status(const std::string& word, PointStatus& status) {
  for (const PointStatus each : {PointStatus::kOk, PointStatus::kDoesNotFit, PointStatus::kRefused})
    if (word == to_word(each)) {
      status = each;
      return true;
    }
  return false;
}

template <class T>
bool take(std::optional<T> read, T& target) {
  if (!read) return false;
  target = *std::move(read);
  return true;
}

void insert_points(Database& db, const Study& study) {
  Statement insert(db,
                   "INSERT INTO study_points VALUES (?, ?, ?, ?, nullif(?, ''), ?, ?, ?, "
                   "nullif(?, ''))");
  int64_t position = 0;
  for (const StudyPoint& p : study.points)
    insert.run(position++, p.family, p.id, to_word(p.status), p.reason, to_json(p.axes),
               to_json(p.settings), to_json(p.notes), p.summary_json);
}

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

void insert_figures(Database& db, const Study& study) {
  Statement insert(db, "INSERT INTO study_figures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Statement insert_series(db, "INSERT INTO study_series VALUES (?, ?, ?)");
  int64_t position = 0;
  for (const Figure& f : study.figures) {
    insert.run(position, f.id, f.label, f.title, f.caption, f.panel, f.reported,
               word_of(kFigureKinds, f.kind), to_json(f.x), to_json(f.y));
    int64_t number = 0;
    for (const FigureSeries& series : f.series)
      insert_series.run(position, number++, to_json(series));
    ++position;
  }
}

void insert_findings(Database& db, const Study& study) {
  Statement insert(db, "INSERT INTO study_findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const StudyFinding& f : study.findings)
    insert.run(position++, f.id, f.title, f.reported, f.source, f.predicted, f.why,
               word_of(kAgreements, f.agrees), to_json(f.points));
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

bool select_axes(Database& db, Study& study) {
  Statement select(db, "SELECT name, labels FROM study_axes ORDER BY position");
  while (select.step()) {
    StudyAxis axis{select.text(0), {}};
    if (!take(text_list(select.text(1)), axis.labels)) return false;
    study.axes.push_back(std::move(axis));
  }
  return true;
}

bool select_points(Database& db, Study& study) {
  Statement select(db,
                   "SELECT family, id, status, reason, axes, settings, notes, summary FROM "
                   "study_points ORDER BY position");
  while (select.step()) {
    StudyPoint p;
    p.family = select.text(0);
    p.id = select.text(1);
    p.reason = select.text(3);
    p.summary_json = select.text(7);
    p.values = study_values(p.summary_json);
    if (!read_status(select.text(2), p.status) || !take(text_map(select.text(4)), p.axes) ||
        !take(text_map(select.text(5)), p.settings) || !take(text_list(select.text(6)), p.notes))
      return false;
    study.points.push_back(std::move(p));
  }
  return true;
}

bool refers_to_points(const std::vector<int64_t>& points, const Study& study) {
  return std::ranges::all_of(points, [&](int64_t point) {
    return point >= -1 && point < static_cast<int64_t>(study.points.size());
  });
}

bool select_series(Database& db, int64_t position, const Study& study, Figure& figure) {
  Statement select(db, "SELECT series FROM study_series WHERE figure = ? ORDER BY position");
  select.bind_all(position);
  while (select.step()) {
    FigureSeries series;
    if (!take(figure_series(select.text(0)), series) || !refers_to_points(series.point, study))
      return false;
    figure.series.push_back(std::move(series));
  }
  return true;
}

bool select_figures(Database& db, Study& study) {
  Statement select(db,
                   "SELECT position, id, label, title, caption, panel, reported, kind, x, y FROM "
                   "study_figures ORDER BY position");
  while (select.step()) {
    Figure f;
    f.id = select.text(1);
    f.label = select.text(2);
    f.title = select.text(3);
    f.caption = select.text(4);
    f.panel = select.text(5);
    f.reported = select.text(6);
    if (!read_word(kFigureKinds, select.text(7), f.kind) ||
        !take(figure_axis(select.text(8)), f.x) || !take(figure_axis(select.text(9)), f.y) ||
        !select_series(db, select.integer(0), study, f))
      return false;
    study.figures.push_back(std::move(f));
  }
  return true;
}

bool select_findings(Database& db, Study& study) {
  Statement select(db,
                   "SELECT id, title, reported, source, predicted, why, agrees, points FROM "
                   "study_findings ORDER BY position");
  while (select.step()) {
    StudyFinding f{select.text(0),
                   select.text(1),
                   select.text(2),
                   select.text(3),
                   select.text(4),
                   select.text(5),
                   {},
                   {}};
    if (!read_word(kAgreements, select.text(6), f.agrees) ||
        !take(number_list(select.text(7)), f.points) || !refers_to_points(f.points, study))
      return false;
    study.findings.push_back(std::move(f));
  }
  return true;
}

}  // namespace

void create_study_tables(Database& db) { db.execute(kStudySchema); }

void insert_study(Database& db, const Study& study) {
  Statement text(db, "INSERT INTO study VALUES (?, ?)");
  text.run("name", study.name);
  text.run("title", study.title);
  text.run("question", study.question);
  Statement axis(db, "INSERT INTO study_axes VALUES (?, ?, ?)");
  int64_t position = 0;
  for (const StudyAxis& a : study.axes) axis.run(position++, a.name, to_json(a.labels));
  insert_points(db, study);
  insert_values(db, study);
  insert_figures(db, study);
  insert_findings(db, study);
}

bool select_study(Database& db, Run& run) {
  if (!db.has_table("study")) return true;
  for (const char* table :
       {"study_axes", "study_points", "study_figures", "study_series", "study_findings"})
    if (!db.has_table(table)) return false;
  Study study;
  select_texts(db, study);
  const bool whole = select_axes(db, study) && select_points(db, study) &&
                     select_figures(db, study) && select_findings(db, study);
  if (whole) run.study = std::move(study);
  return whole;
}

}  // namespace ergometer::run
