#pragma once

#include <optional>
#include <string_view>

#include "intake/reader/python_values.h"

namespace ergometer::intake {

/// What Python makes of values that are known; nothing where it would raise, or where the answer is
/// not plain data.

/// The number that a value is: True is 1.
std::optional<double> python_number(const nlohmann::json& value);

/// Whether sums and products of it stay integers.
bool is_python_integer(const nlohmann::json& value);

/// A number as a value; nothing where it is not finite, or too large for integers to be exact.
PythonValues::Value python_value(double number, bool integer);

/// `left SIGN right` of + - * / // % ** and |.
PythonValues::Value python_combined(std::string_view sign, const PythonValues::Value& left,
                                    const PythonValues::Value& right);

/// `left SIGN right` of == != < <= > >= `is` and `in`, and of these with `not`.
PythonValues::Value python_compared(std::string_view sign, const PythonValues::Value& left,
                                    const PythonValues::Value& right);

/// What `str` gives.
PythonValues::Value python_str(const nlohmann::json& value);

/// What Python takes for true.
bool python_truth(const nlohmann::json& value);

}  // namespace ergometer::intake
