#include "base/parameter.h"

#include <string>

#include "base/check.h"

namespace ergometer::base {

std::string_view to_string(Grade grade) {
  switch (grade) {
    case Grade::kDatasheet: return "datasheet";
    case Grade::kMeasured: return "measured";
    case Grade::kFitted: return "fitted";
    case Grade::kAssumed: return "assumed";
  }
  return "";
}

const Parameter* ParameterSet::find(std::string_view name) const {
  const auto it = parameters_.find(name);
  return it == parameters_.end() ? nullptr : &it->second;
}

double ParameterSet::at(std::string_view name) const {
  const Parameter* parameter = find(name);
  ERGOMETER_CHECK(parameter != nullptr, "no parameter " + std::string(name));
  return parameter->value;
}

double ParameterSet::value_or(std::string_view name, double fallback) const {
  const Parameter* parameter = find(name);
  return parameter == nullptr ? fallback : parameter->value;
}

}  // namespace ergometer::base
