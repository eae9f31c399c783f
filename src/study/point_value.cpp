#include "study/point_value.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "base/text.h"
#include "run/study_columns.h"
#include "spec/settings/settings.h"

namespace ergometer::study {
namespace {

Value value_of_text(const std::string& text) {
  if (text == "true") return 1.0;
  if (text == "false") return 0.0;
  if (const auto number = label_number(text)) return number->number;
  return text;
}

std::optional<double> whole(std::string_view name, const run::StudyPoint& point) {
  const auto value = point_value(name, point);
  if (!value || !std::holds_alternative<double>(*value)) return std::nullopt;
  return std::get<double>(*value);
}

/// Of settings that nobody gave.
std::optional<Value> fallback(std::string_view setting, const run::StudyPoint& point) {
  constexpr std::array kGroups = std::to_array<std::string_view>(
      {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
       "expert_model_parallel_size", "virtual_pipeline_model_parallel_size", "micro_batch_size"});
  if (std::find(kGroups.begin(), kGroups.end(), setting) != kGroups.end()) return 1.0;
  if (setting != "data_parallel_size") return std::nullopt;
  const auto gpus = whole("gpus", point), tp = whole("tp", point), pp = whole("pp", point),
             cp = whole("cp", point);
  if (!gpus || !tp || !pp || !cp || *tp * *pp * *cp == 0) return std::nullopt;
  return *gpus / (*tp * *pp * *cp);
}

}  // namespace

std::optional<LabelNumber> label_number(std::string_view label) {
  size_t end = 0;
  const auto in_number = [&](size_t i) {
    const char c = label[i];
    const bool sign = c == '-' || c == '+';
    return base::is_digit(c) || c == '.' || (sign && i == 0);
  };
  while (end < label.size() && in_number(end)) ++end;
  // "1e6", but not the unit of "1 eV".
  if (end > 0 && end + 1 < label.size() && label[end] == 'e' &&
      (base::is_digit(label[end + 1]) || label[end + 1] == '-')) {
    ++end;
    while (end < label.size() && (base::is_digit(label[end]) || label[end] == '-')) ++end;
  }
  const auto number = base::parse_number(label.substr(0, end));
  if (!number) return std::nullopt;
  std::string_view unit = label.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const bool is_unit = std::all_of(
      unit.begin(), unit.end(), [](char c) { return base::is_letter(c) || c == '/' || c == '%'; });
  if (!is_unit) return std::nullopt;
  return LabelNumber{*number, std::string(unit)};
}

std::optional<Value> point_value(std::string_view name, const run::StudyPoint& point) {
  if (const auto axis = point.axes.find(std::string(name)); axis != point.axes.end())
    return value_of_text(axis->second);
  if (name == "id") return point.id;
  if (name == "family") return point.family;
  if (name == "status") return std::string(to_word(point.status));
  if (const auto value = point.values.find(std::string(name)); value != point.values.end())
    return value->second;
  const spec::SettingInfo* setting = spec::find_setting(name);
  if (setting == nullptr) return std::nullopt;
  const auto given = point.settings.find(std::string(setting->name));
  if (given != point.settings.end()) return value_of_text(given->second);
  return fallback(setting->name, point);
}

std::string point_label(std::string_view name, const run::StudyPoint& point) {
  if (const auto axis = point.axes.find(std::string(name)); axis != point.axes.end())
    return axis->second;
  const auto value = point_value(name, point);
  if (!value) return "";
  if (const auto* number = std::get_if<double>(&*value)) return base::shortest(*number);
  return std::get<std::string>(*value);
}

}  // namespace ergometer::study
