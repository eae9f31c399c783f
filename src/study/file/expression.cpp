#include "study/file/expression.h"

#include <algorithm>
#include <cmath>

#include "study/file/expression_parser.h"

namespace ergometer::study {
namespace {

using Node = Expression::Node;

std::optional<Value> evaluate_node(const Node& node, const Expression::Lookup& lookup);

std::optional<double> number_of(const Node& node, const Expression::Lookup& lookup) {
  const auto value = evaluate_node(node, lookup);
  if (!value || !std::holds_alternative<double>(*value)) return std::nullopt;
  return std::get<double>(*value);
}

std::optional<Value> truth(bool is) { return Value(is ? 1.0 : 0.0); }

std::optional<Value> compare(const Node& node, const Expression::Lookup& lookup) {
  const auto left = evaluate_node(node.inputs[0], lookup);
  const auto right = evaluate_node(node.inputs[1], lookup);
  if (!left || !right) return std::nullopt;
  const bool same_kind = left->index() == right->index();
  if (node.op == Operator::kEqual) return truth(same_kind && *left == *right);
  if (node.op == Operator::kUnequal) return truth(!same_kind || *left != *right);
  if (!same_kind) return std::nullopt;
  switch (node.op) {
    case Operator::kLess: return truth(*left < *right);
    case Operator::kLessEqual: return truth(*left <= *right);
    case Operator::kGreater: return truth(*left > *right);
    default: return truth(*left >= *right);
  }
}

/// `and` and `or` look at their right side only where the left one leaves it open.
std::optional<Value> connect(const Node& node, const Expression::Lookup& lookup) {
  const auto left = number_of(node.inputs[0], lookup);
  if (!left) return std::nullopt;
  if ((*left != 0) == (node.op == Operator::kOr)) return truth(*left != 0);
  const auto right = number_of(node.inputs[1], lookup);
  if (!right) return std::nullopt;
  return truth(*right != 0);
}

std::optional<Value> finite(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  return Value(number);
}

std::optional<Value> calculate(Operator op, const std::vector<double>& in) {
  switch (op) {
    case Operator::kNot: return truth(in[0] == 0);
    case Operator::kNegate: return Value(-in[0]);
    case Operator::kAdd: return finite(in[0] + in[1]);
    case Operator::kSubtract: return finite(in[0] - in[1]);
    case Operator::kMultiply: return finite(in[0] * in[1]);
    case Operator::kDivide: return finite(in[0] / in[1]);
    case Operator::kRemainder: return finite(std::fmod(in[0], in[1]));
    case Operator::kMin: return Value(*std::min_element(in.begin(), in.end()));
    case Operator::kMax: return Value(*std::max_element(in.begin(), in.end()));
    case Operator::kAbs: return Value(std::abs(in[0]));
    case Operator::kFloor: return Value(std::floor(in[0]));
    case Operator::kCeil: return Value(std::ceil(in[0]));
    case Operator::kSqrt: return finite(std::sqrt(in[0]));
    default: return finite(std::log2(in[0]));
  }
}

std::optional<Value> evaluate_node(const Node& node, const Expression::Lookup& lookup) {
  switch (node.op) {
    case Operator::kNumber: return Value(node.number);
    case Operator::kText: return Value(node.text);
    case Operator::kName: return lookup(node.text);
    case Operator::kOr:
    case Operator::kAnd: return connect(node, lookup);
    case Operator::kEqual:
    case Operator::kUnequal:
    case Operator::kLess:
    case Operator::kLessEqual:
    case Operator::kGreater:
    case Operator::kGreaterEqual: return compare(node, lookup);
    default: break;
  }
  std::vector<double> numbers;
  for (const Node& input : node.inputs) {
    const auto number = number_of(input, lookup);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return calculate(node.op, numbers);
}

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
  ERGOMETER_ASSIGN(ParsedExpression parsed, parse_expression(text));
  Expression expression;
  expression.text_ = text;
  expression.names_ = std::move(parsed.names);
  expression.root_ = std::make_shared<const Node>(std::move(parsed.root));
  return expression;
}

std::optional<Value> Expression::evaluate(const Lookup& lookup) const {
  return root_ == nullptr ? std::nullopt : evaluate_node(*root_, lookup);
}

std::optional<double> Expression::number(const Lookup& lookup) const {
  return root_ == nullptr ? std::nullopt : number_of(*root_, lookup);
}

}  // namespace ergometer::study
