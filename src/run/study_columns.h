#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "run/study.h"

namespace ergometer::run {

/// A column of a study as a flat table, a row a point: the same in the Run file's view `points`, in
/// CSV and on the terminal.
struct StudyColumn {
  enum class Kind : uint8_t { kAxis, kFamily, kId, kStatus, kReason, kValue };
  Kind kind = Kind::kValue;
  std::string key;   ///< of an axis or a value: what the point has it under
  std::string name;  ///< of the column
};

/// The axes, what a point is called and what became of it, then numbers: those of the summary's
/// table in its order, whether a point has them or not, then the others that a point has, by name.
///
/// No name stands twice, in whatever case, since SQL sees none: an axis that is called as another
/// column is ("status", or "TP" beside "tp") is "axis.status". `position`, which the view has
/// besides, counts as taken.
std::vector<StudyColumn> study_columns(const Study& study);

/// What a point has in a column: nothing where it has no value, as when it was refused.
using StudyCell = std::variant<std::monostate, double, std::string>;
StudyCell cell(const StudyPoint& point, const StudyColumn& column);

/// "ok", "does-not-fit", "refused".
std::string_view to_word(PointStatus status);
/// "yes", "in part", "no".
std::string_view to_word(Agreement agreement);

}  // namespace ergometer::run
