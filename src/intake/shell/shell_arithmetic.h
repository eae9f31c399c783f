#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ergometer::intake {

/// The variables of an arithmetic expression.
struct ArithmeticScope {
  std::function<std::string(std::string_view)> get;  ///< empty: not set, counts as 0
  std::function<void(std::string_view, std::string)> set;
};

/// bash's arithmetic in 64 bits, assignments, `?:`, `,` and `**` included: the number as text. A
/// mark of something unknown (intake/shell/shell_state.h) in the expression or in a variable of it
/// makes the result that mark. Errors say what is wrong; file and line are the caller's to add.
Result<std::string> shell_arithmetic(std::string_view expression, const ArithmeticScope& scope);

}  // namespace ergometer::intake
