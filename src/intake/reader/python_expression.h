#pragma once

#include <string_view>

#include "intake/reader/python_values.h"

namespace ergometer::intake {

/// What an expression comes to at a place; all of the text, or as much as belongs to it:
/// `CONDITION else ...`, `CONDITION: ...`.
PythonValues::Value python_expression(PythonValues& values, std::string_view text, size_t place,
                                      bool whole);

}  // namespace ergometer::intake
