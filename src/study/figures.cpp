#include "study/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json_writer.h"
#include "base/text.h"
#include "spec/settings/settings.h"
#include "study/point_value.h"

namespace ergometer::study {
namespace {

using run::FigureKind;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// One mark of a figure before seeds are joined.
struct Sample {
  std::string panel, series, x_label;
  double x = kNone;
  double y = kNone, low = kNone, high = kNone, cell = kNone;
  std::string y_label;
  int64_t point = -1;
};

/// One mark: all seeds of a sample.
struct Mark {
  Sample first;
  double sum = 0, low = kNone, high = kNone, cell_sum = 0;
  size_t count = 0;
};

bool names(const std::optional<Expression>& expression, std::string_view name) {
  return expression && std::find(expression->names().begin(), expression->names().end(), name) !=
                           expression->names().end();
}

bool belongs(const FigureRequest& request, const run::StudyPoint& point,
             const Expression::Lookup& lookup) {
  if (point.status != run::PointStatus::kOk && !names(request.where, "status")) return false;
  return !request.where || request.where->number(lookup).value_or(0) != 0;
}

/// A label as it stands where the expression is one name, else the value.
std::string shown(const Expression& expression, const run::StudyPoint& point,
                  const Expression::Lookup& lookup) {
  if (expression.names().size() == 1 && expression.names()[0] == expression.text())
    return point_label(expression.text(), point);
  const auto value = expression.number(lookup);
  return value ? base::shortest(*value) : "";
}

/// A label that says what it is: "micro batch size 2" where the point's own is "2".
std::string named(const std::string& name, const run::StudyPoint& point) {
  std::string label = point_label(name, point);
  const bool bare = base::parse_number(label) || label == "true" || label == "false";
  if (!bare || label.empty()) return label;
  const spec::SettingInfo* setting = spec::find_setting(name);
  std::string words(setting != nullptr ? setting->name : name);
  if (const size_t dot = words.rfind('.'); dot != words.npos) words.erase(0, dot + 1);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words + " " + label;
}

/// The ends of the summary's 90 % interval, where y is a number of it as it stands.
void add_interval(Sample& sample, const Expression& y, const run::StudyPoint& point) {
  const auto low = point.values.find(y.text() + "_low"),
             high = point.values.find(y.text() + "_high");
  if (low == point.values.end() || high == point.values.end()) return;
  sample.low = low->second;
  sample.high = high->second;
}

void add_samples(const FigureRequest& request, const run::StudyPoint& point, int64_t index,
                 std::vector<Sample>& samples) {
  const auto lookup = [&](std::string_view name) { return point_value(name, point); };
  if (!belongs(request, point, lookup)) return;
  Sample sample;
  sample.point = index;
  if (!request.panel.empty()) sample.panel = named(request.panel, point);
  if (!request.series.empty()) sample.series = named(request.series, point);
  sample.x_label = shown(request.x_value, point, lookup);
  sample.x = request.x_value.number(lookup).value_or(kNone);
  for (const FigureQuantity& quantity : request.y_values) {
    Sample part = sample;
    if (!quantity.label.empty()) part.series = quantity.label;
    part.y = quantity.value.number(lookup).value_or(kNone);
    if (request.cell) {
      if (part.series.empty()) part.series = request.z.title;
      part.y_label = shown(quantity.value, point, lookup);
      part.cell = request.cell->number(lookup).value_or(kNone);
    }
    add_interval(part, quantity.value, point);
    if (request.cell ? std::isfinite(part.cell) : std::isfinite(part.y))
      samples.push_back(std::move(part));
  }
}

bool same_place(const Sample& a, const Sample& b) {
  return a.panel == b.panel && a.series == b.series && a.x_label == b.x_label &&
         a.y_label == b.y_label;
}

/// Seeds differ in nothing but their number, so they share a place; in a scatter places are
/// numbers that depend on the seed, and every sample is a mark of its own.
std::vector<Mark> join_seeds(const std::vector<Sample>& samples, bool repeated) {
  std::vector<Mark> marks;
  for (const Sample& sample : samples) {
    auto mark = marks.end();
    if (repeated)
      mark = std::find_if(marks.begin(), marks.end(),
                          [&](const Mark& m) { return same_place(m.first, sample); });
    if (mark == marks.end()) {
      marks.push_back({sample, sample.y, sample.low, sample.high, sample.cell, 1});
      continue;
    }
    if (mark->count == 1) mark->low = mark->high = mark->first.y;
    mark->low = std::min(mark->low, sample.y);
    mark->high = std::max(mark->high, sample.y);
    mark->sum += sample.y;
    mark->cell_sum += sample.cell;
    ++mark->count;
  }
  for (Mark& mark : marks) {
    mark.first.y = mark.sum / static_cast<double>(mark.count);
    mark.first.cell = mark.cell_sum / static_cast<double>(mark.count);
    mark.first.low = mark.low;
    mark.first.high = mark.high;
  }
  return marks;
}

/// All panels have the same categories, so that they can be compared: numbers of one unit by size,
/// labels in the order of the points.
std::vector<std::string> categories_of(const std::vector<Mark>& marks,
                                       const std::string Sample::* label) {
  std::vector<std::string> categories;
  for (const Mark& mark : marks)
    if (std::find(categories.begin(), categories.end(), mark.first.*label) == categories.end())
      categories.push_back(mark.first.*label);
  const auto first = label_number(categories.empty() ? "" : categories.front());
  const bool numbers = std::all_of(categories.begin(), categories.end(), [&](const auto& text) {
    const auto number = label_number(text);
    return number && number->unit == first->unit;
  });
  if (numbers)
    std::stable_sort(categories.begin(), categories.end(), [](const auto& a, const auto& b) {
      return label_number(a)->number < label_number(b)->number;
    });
  return categories;
}

double index_in(const std::vector<std::string>& categories, const std::string& label) {
  return static_cast<double>(std::find(categories.begin(), categories.end(), label) -
                             categories.begin());
}

run::FigureSeries& series_of(run::Figure& figure, const std::string& label) {
  const auto found = std::find_if(figure.series.begin(), figure.series.end(),
                                  [&](const auto& s) { return s.label == label; });
  if (found != figure.series.end()) return *found;
  figure.series.push_back({});
  figure.series.back().label = label;
  return figure.series.back();
}

void add_mark(run::Figure& figure, const Sample& mark, bool in_categories) {
  run::FigureSeries& series = series_of(figure, mark.series);
  series.x.push_back(in_categories ? index_in(figure.x.categories, mark.x_label) : mark.x);
  series.point.push_back(mark.point);
  if (figure.kind == FigureKind::kHeatMap) {
    series.y.push_back(index_in(figure.y.categories, mark.y_label));
    series.value.push_back(mark.cell);
    return;
  }
  series.y.push_back(mark.y);
  series.low.push_back(mark.low);
  series.high.push_back(mark.high);
}

/// The interval is left out where no mark has one; where some have, the others' is the mark itself.
void settle_interval(run::FigureSeries& series) {
  const auto known = [](double v) { return std::isfinite(v); };
  if (std::none_of(series.low.begin(), series.low.end(), known)) {
    series.low.clear();
    series.high.clear();
    return;
  }
  for (size_t i = 0; i < series.low.size(); ++i) {
    if (!known(series.low[i])) series.low[i] = series.y[i];
    if (!known(series.high[i])) series.high[i] = series.y[i];
  }
}

void divide(run::FigureSeries& series, double by) {
  if (by == 0 || !std::isfinite(by)) return;
  for (std::vector<double>* column : {&series.y, &series.low, &series.high})
    for (double& value : *column) value /= by;
}

/// To the largest mark of the picture, or each series to its first mark.
void normalize(run::Figure& figure, Relative relative) {
  if (relative == Relative::kToFirst)
    for (run::FigureSeries& series : figure.series) divide(series, series.y.front());
  if (relative != Relative::kToMax) return;
  double largest = 0;
  for (const run::FigureSeries& series : figure.series)
    for (const double y : series.y) largest = std::max(largest, std::abs(y));
  for (run::FigureSeries& series : figure.series) divide(series, largest);
}

/// Lines run from left to right.
void sort_by_x(run::FigureSeries& series) {
  std::vector<size_t> order(series.x.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return series.x[a] < series.x[b]; });
  const auto sorted = [&](auto& column) {
    if (column.empty()) return;
    auto copy = column;
    for (size_t i = 0; i < order.size(); ++i) copy[i] = column[order[i]];
    column = std::move(copy);
  };
  sorted(series.x), sorted(series.y), sorted(series.low), sorted(series.high), sorted(series.point);
}

/// With the categories of all panels.
run::Figure empty_figure(const FigureRequest& request, const std::vector<Mark>& marks,
                         bool in_categories) {
  run::Figure figure;
  figure.id = request.id;
  figure.title = request.title;
  figure.caption = request.caption;
  figure.kind = request.kind;
  figure.x = request.x;
  figure.y = request.y;
  if (in_categories) figure.x.categories = categories_of(marks, &Sample::x_label);
  if (request.cell) {
    figure.y.unit = request.z.unit;
    figure.y.categories = categories_of(marks, &Sample::y_label);
  }
  return figure;
}

/// Points may have numbers along x only where every one of them does.
bool needs_categories(const FigureRequest& request, const std::vector<Mark>& marks) {
  if (request.kind != FigureKind::kLine && request.kind != FigureKind::kScatter) return true;
  return std::any_of(marks.begin(), marks.end(),
                     [](const Mark& m) { return !std::isfinite(m.first.x); });
}

std::vector<run::Figure> make_panels(const FigureRequest& request, const run::Study& study) {
  std::vector<Sample> samples;
  bool repeated = false;
  for (size_t i = 0; i < study.points.size(); ++i) {
    add_samples(request, study.points[i], static_cast<int64_t>(i), samples);
    repeated = repeated || study.points[i].axes.contains("seed");
  }
  repeated = repeated && request.kind != FigureKind::kScatter && request.series != "seed" &&
             request.panel != "seed";
  const std::vector<Mark> marks = join_seeds(samples, repeated);
  const bool in_categories = needs_categories(request, marks);
  const run::Figure empty = empty_figure(request, marks, in_categories);
  std::vector<run::Figure> panels;
  for (const Mark& mark : marks) {
    auto figure = std::find_if(panels.begin(), panels.end(),
                               [&](const run::Figure& f) { return f.panel == mark.first.panel; });
    if (figure == panels.end()) {
      figure = panels.insert(panels.end(), empty);
      figure->panel = mark.first.panel;
    }
    add_mark(*figure, mark.first, in_categories);
  }
  for (run::Figure& figure : panels) {
    for (run::FigureSeries& series : figure.series) {
      if (figure.kind != FigureKind::kHeatMap) settle_interval(series);
      if (figure.kind == FigureKind::kLine && !in_categories) sort_by_x(series);
    }
    normalize(figure, request.relative);
  }
  return panels;
}

}  // namespace

std::vector<run::Figure> make_figures(const Definition& definition, const run::Study& study) {
  std::vector<run::Figure> figures;
  for (const FigureRequest& request : definition.figures)
    for (run::Figure& figure : make_panels(request, study)) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace ergometer::study
