#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ergometer::run {

enum class PointStatus : uint8_t { kOk, kDoesNotFit, kRefused };

/// One job of a study and what became of it.
struct StudyPoint {
  std::string id;                               ///< unique together with `family`
  std::string family;                           ///< rows that belong together; may be empty
  std::map<std::string, std::string> axes;      ///< label by axis
  std::map<std::string, std::string> settings;  ///< what the job says, by setting: enough to run it
  PointStatus status = PointStatus::kRefused;
  std::string reason;              ///< why it cannot run; empty when ok
  std::vector<std::string> notes;  ///< what is odd about it, what was corrected
  std::string summary_json;        ///< as `simulate --json` prints it; empty when refused
  /// Numbers of `summary_json` under their names in the Run file's `summary` table
  /// ("performance.step_time_s"); links as "links.nic.utilization".
  std::map<std::string, double> values;
};

struct StudyAxis {
  std::string name;
  std::vector<std::string> labels;
};

enum class FigureKind : uint8_t { kLine, kBar, kStack, kScatter, kHeatMap };
/// What they are called in files and documents, in their order.
inline constexpr std::array<std::string_view, 5> kFigureKinds = {"line", "bar", "stack", "scatter",
                                                                 "heat-map"};

struct FigureAxis {
  std::string title, unit;
  bool logarithmic = false;
  std::vector<std::string> categories;  ///< of bars, stacks, heat maps; empty: numbers
};

/// Columns of equal length; NaN: no value.
struct FigureSeries {
  std::string label;
  std::vector<double> x, y;       ///< numbers, or indices into the axis' categories
  std::vector<double> low, high;  ///< 90 % interval of y; may be empty
  std::vector<double> value;      ///< heat maps only: the cell's
  std::vector<int64_t> point;     ///< the study's point behind it, -1: none; may be empty
};

/// A picture of a study, ready to be drawn.
struct Figure {
  std::string id, label, title, caption;
  std::string panel;     ///< of several pictures with the same id
  std::string reported;  ///< what is told of the original; empty for a figure of our own
  FigureKind kind = FigureKind::kLine;
  FigureAxis x, y;
  std::vector<FigureSeries> series;
};

enum class Agreement : uint8_t { kYes, kInPart, kNo };

/// What others saw, beside what the study's points say.
struct StudyFinding {
  std::string id, title, reported, source, predicted, why;
  Agreement agrees = Agreement::kNo;
  std::vector<int64_t> points;
};

/// Many jobs that answer one question.
struct Study {
  std::string name, title, question;
  std::vector<StudyAxis> axes;
  std::vector<StudyPoint> points;
  std::vector<Figure> figures;
  std::vector<StudyFinding> findings;
};

}  // namespace ergometer::run
