#include "intake/reader/python_operators.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"

namespace ergometer::intake {

namespace {

using Json = nlohmann::json;
using Value = PythonValues::Value;

constexpr double kLargest = 1e15;  ///< whole numbers stay exact

/// "a/b" of Path("a") / "b"
Value joined_path(const Json& left, const Json& right) {
  const auto folder = left.get<std::string>(), file = right.get<std::string>();
  return file.starts_with('/') || folder.empty()
             ? Json(file)
             : Json(folder + (folder.ends_with('/') ? "" : "/") + file);
}

}  // namespace

std::optional<double> python_number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

bool is_python_integer(const Json& value) {
  return value.is_number_integer() || value.is_boolean();
}

Value python_value(double number, bool whole) {
  if (!std::isfinite(number) || std::abs(number) > kLargest) return std::nullopt;
  return whole ? Json(static_cast<int64_t>(number)) : Json(number);
}

Value python_combined(std::string_view sign, const Value& left, const Value& right) {
  if (!left || !right) return std::nullopt;
  if (sign == "+" && left->is_string() && right->is_string())
    return Json(left->get<std::string>() + right->get<std::string>());
  if (sign == "+" && left->is_array() && right->is_array() &&
      left->size() + right->size() <= kMostPythonArguments) {
    Json all = *left;
    for (const Json& item : *right) all.push_back(item);
    return all;
  }
  if (sign == "|" && left->is_object() && right->is_object()) {
    Json all = *left;
    for (const auto& [key, item] : right->items()) all[key] = item;
    return all;
  }
  if (sign == "/" && left->is_string() && right->is_string()) return joined_path(*left, *right);
  const auto a = python_number(*left), b = python_number(*right);
  if (!a || !b) return std::nullopt;
  const bool whole = is_python_integer(*left) && is_python_integer(*right);
  if (sign == "+") return python_value(*a + *b, whole);
  if (sign == "-") return python_value(*a - *b, whole);
  if (sign == "*") return python_value(*a * *b, whole);
  if (sign == "**" && *b >= 0) return python_value(std::pow(*a, *b), whole);
  if (*b == 0) return std::nullopt;
  if (sign == "/") return python_value(*a / *b, false);
  if (sign == "//") return python_value(std::floor(*a / *b), whole);
  if (sign == "%") return python_value(*a - *b * std::floor(*a / *b), whole);
  return std::nullopt;
}

Value python_compared(std::string_view sign, const Value& left, const Value& right) {
  if (!left || !right || left->is_discarded() || right->is_discarded()) return std::nullopt;
  if (sign == "==" || sign == "is") return Json(*left == *right);
  if (sign == "!=" || sign == "is not") return Json(*left != *right);
  if (sign == "in" || sign == "not in") {
    bool found = false;
    if (left->is_string() && right->is_string())
      found = base::contains(right->get<std::string>(), left->get<std::string>());
    else if (right->is_array())
      found = std::ranges::any_of(*right, [&](const Json& item) { return item == *left; });
    else if (right->is_object() && left->is_string())
      found = right->contains(left->get<std::string>());
    else
      return std::nullopt;
    return Json(found == (sign == "in"));
  }
  const auto a = python_number(*left), b = python_number(*right);
  if (!a || !b) return std::nullopt;
  if (sign == "<") return Json(*a < *b);
  if (sign == "<=") return Json(*a <= *b);
  if (sign == ">") return Json(*a > *b);
  return Json(*a >= *b);
}

Value python_str(const Json& value) {
  if (value.is_string()) return value;
  if (value.is_structured() || value.is_discarded()) return std::nullopt;
  return Json(python_literal(value));
}

bool python_truth(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (value.is_string()) return !value.get<std::string>().empty();
  return !value.is_null() && !value.empty();
}

}  // namespace ergometer::intake
