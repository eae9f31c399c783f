#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/file/expression.h"

namespace ergometer::study {

enum class Operator : uint8_t {
  kNumber,
  kText,
  kName,
  kOr,
  kAnd,
  kNot,
  kEqual,
  kUnequal,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kNegate,
  kMin,
  kMax,
  kAbs,
  kFloor,
  kCeil,
  kSqrt,
  kLog2,
};

struct Expression::Node {
  Operator op;
  double number = 0;
  std::string text;  ///< of a name or a text
  std::vector<Node> inputs;
};

struct ParsedExpression {
  Expression::Node root;
  std::vector<std::string> names;
};
/// Recursive descent, one function a level of precedence.
Result<ParsedExpression> parse_expression(std::string_view text);

}  // namespace ergometer::study
