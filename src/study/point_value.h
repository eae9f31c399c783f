#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "run/study.h"
#include "study/file/expression.h"

namespace ergometer::study {

/// What a name of an expression means for a point: the label of an axis, `id`, `family`, `status`,
/// a setting by its name or short name, or a number of the summary, in this order. Settings that
/// nobody gave: sizes of groups are 1, and dp what is left of the GPUs. A text that is a number,
/// with or without a unit ("400 Gb/s"), is that number; true and false are 1 and 0.
std::optional<Value> point_value(std::string_view name, const run::StudyPoint& point);

/// The same as a text to be shown: an axis' label as it stands.
std::string point_label(std::string_view name, const run::StudyPoint& point);

/// 400 and "Gb/s" of "400 Gb/s"; nothing of "llama3-8b".
struct LabelNumber {
  double number = 0;
  std::string unit;
};
std::optional<LabelNumber> label_number(std::string_view label);

}  // namespace ergometer::study
