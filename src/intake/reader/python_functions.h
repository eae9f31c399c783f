#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "intake/reader/python_values.h"

namespace ergometer::intake {

/// What stands between the parentheses of a call.
struct PythonCall {
  std::vector<PythonValues::Value> items;
  std::vector<std::pair<std::string, PythonValues::Value>> named;
  std::string first;     ///< the first of these, as written
  bool spreads = false;  ///< holds `*items`, or `**items` that are not known

  /// Of the arguments without a name; nothing where there are fewer.
  PythonValues::Value item(size_t i) const;
};

/// A function of Python itself, or of its libraries `math`, `os.path` and `pathlib`: `value` is
/// what it gives, nothing where that is not known. False: it is none of these.
bool python_function(std::string_view name, const PythonCall& call, PythonValues::Value& value);

/// What a method of a text or dictionary gives; nothing where it is not known here.
PythonValues::Value python_method(const nlohmann::json& self, std::string_view name,
                                  const PythonCall& call);

}  // namespace ergometer::intake
