#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "spec/job/job_words.h"
#include "spec/settings/setting_reader.h"
#include "spec/settings/settings.h"

// Values of settings made from the fields of a job: the field's type says which kind of setting it
// is, how it is read and how it is told.
namespace ergometer::spec {

/// The part of a job that a member belongs to.
template <class Part, class Value>
Part part_of(Value Part::* member);

template <auto kMember, class AnyJob>
decltype(auto) value_in(AnyJob& job) {
  using Part = decltype(part_of(kMember));
  if constexpr (std::is_same_v<Part, Parallelism>)
    return std::invoke(kMember, job.parallelism);
  else if constexpr (std::is_same_v<Part, Training>)
    return std::invoke(kMember, job.training);
  else if constexpr (std::is_same_v<Part, Conditions>)
    return std::invoke(kMember, job.conditions);
  else if constexpr (std::is_same_v<Part, Model>)
    return std::invoke(kMember, job.model);
  else
    return std::invoke(kMember, job);
}

template <class T>
std::string field_text(const SettingInfo& info, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return std::string(info.kind == SettingKind::kChoice ? word_at(info.choices, value ? 1 : 0)
                                                         : (value ? "on" : "off"));
  else if constexpr (std::is_enum_v<T>)
    return std::string(to_word(value));
  else if constexpr (std::is_floating_point_v<T>)
    return base::shortest(value);
  else if constexpr (std::is_integral_v<T>)
    return fmt::format("{}", value);
  else
    return value.empty() ? "none" : fmt::format("{}", fmt::join(value, ","));
}

template <class T>
void read_field(SettingReader& read, const SettingInfo& info, T& value) {
  if constexpr (std::is_same_v<T, bool>)
    value = info.kind == SettingKind::kChoice
                ? read.choice(info.name, value ? 1 : 0, info.reason) == 1
                : read.flag(info.name, value, info.reason);
  else if constexpr (std::is_enum_v<T>)
    value = read.choice(info.name, value, info.reason);
  else if constexpr (std::is_floating_point_v<T>)
    value = info.kind == SettingKind::kMeasure ? read.measure(info.name, value, info.reason)
                                               : read.real(info.name, value, info.reason);
  else if constexpr (std::is_integral_v<T>)
    value = static_cast<T>(read.integer(info.name, static_cast<int64_t>(value), info.reason));
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    value = read.integers(info.name, info.reason);
  else
    value = read.list(info.name, info.reason);
}

template <class T>
constexpr SettingKind field_kind() {
  if constexpr (std::is_same_v<T, bool>) return SettingKind::kSwitch;
  if constexpr (std::is_enum_v<T>) return SettingKind::kChoice;
  if constexpr (std::is_floating_point_v<T>) return SettingKind::kReal;
  if constexpr (std::is_integral_v<T>) return SettingKind::kInteger;
  return SettingKind::kList;
}

/// A setting that is a member of one of the job's parts, or what a member function says. `min` and
/// `max` of numbers, `words` of a list; of a switch: what is said for off and on.
template <auto kMember>
constexpr SettingValue field(double min = 0, double max = 0, std::string_view words = {}) {
  using Value = decltype(value_in<kMember>(std::declval<Job&>()));
  using T = std::remove_cvref_t<Value>;
  SettingValue value{.kind = field_kind<T>(), .min = min, .max = max, .choices = words};
  if constexpr (std::is_enum_v<T>) value.choices = words_of(T{});
  if (value.kind == SettingKind::kSwitch && !words.empty()) value.kind = SettingKind::kChoice;
  value.text = [](const SettingInfo& info, const Job& job) {
    return field_text(info, value_in<kMember>(job));
  };
  if constexpr (std::is_lvalue_reference_v<Value>)
    value.read = [](SettingReader& read, const SettingInfo& info, Job& job) {
      read_field(read, info, value_in<kMember>(job));
    };
  return value;
}

template <auto kMember>
constexpr SettingValue measure(double min, double max, std::string_view unit) {
  SettingValue value = field<kMember>(min, max);
  value.kind = SettingKind::kMeasure;
  value.unit = unit;
  return value;
}

}  // namespace ergometer::spec
