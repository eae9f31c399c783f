#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/study.h"
#include "spec/settings/settings.h"
#include "study/file/expression.h"

namespace ergometer::study {

/// Settings, and numbers of the cluster that are to be others: "node_bandwidth" -> "800 Gb/s", the
/// keys of a cluster file that extends another.
struct Change {
  spec::Settings settings;
  std::map<std::string, std::string> cluster;
};

struct AxisValue {
  std::string label;
  Change change;
};

struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

/// One product of axes.
struct PointSet {
  std::string name;  ///< the points' family; empty when there is but one
  Change base;       ///< over the study's
  std::vector<Axis> axes;
  std::vector<Expression> constraints;
};

/// What is changed in the rows of a matrix that have a defect, see catalog/studies/README.md.
struct Correction {
  std::string defect;  ///< "wrong-model-dims"
  std::optional<Expression> where;
  Change change;
  std::string note;
};

struct FigureQuantity {
  std::string label;  ///< of a part of a stack
  Expression value;
};

enum class Relative : uint8_t { kNot, kToMax, kToFirst };

struct FigureRequest {
  std::string id, title, caption, series, panel;
  run::FigureKind kind = run::FigureKind::kLine;
  run::FigureAxis x, y, z;  ///< z: what the cells of a heat map show
  Expression x_value;
  std::vector<FigureQuantity> y_values;  ///< several in a stack alone
  std::optional<Expression> cell;        ///< heat maps
  std::optional<Expression> where;
  Relative relative = Relative::kNot;
};

/// A study as its file says it; docs/study-file.md.
struct Definition {
  std::string file, text;  ///< where it stands, and the file itself
  std::string name, title, question;
  Change base;
  std::vector<PointSet> sets;
  std::string rows;  ///< a matrix: a CSV file or a study's catalog name; empty: none
  std::vector<Correction> corrections;
  std::vector<int64_t> seeds;
  std::vector<FigureRequest> figures;
};

/// The first thing wrong is the error: file, line, key, what was found and what is allowed.
Result<Definition> parse_definition(const std::string& text, const std::string& file);

/// A study of the catalog, a study file, or a matrix (a CSV file or the catalog's).
Result<Definition> read_definition(const std::string& name_or_path);

/// Whether figures and constraints may use the name: a setting, an axis of the study, a number of
/// the summary, "id", "family" or "status".
bool is_known_name(std::string_view name, const Definition& definition);

}  // namespace ergometer::study
