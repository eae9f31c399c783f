#include "study/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/nearest.h"
#include "base/text.h"

// Recursive descent, one function a level of precedence; the tree is walked once for every point.

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

namespace {

using Node = Expression::Node;
constexpr int kDeepest = 64;
constexpr size_t kLongest = 4096;

struct Function {
  std::string_view name;
  Operator op;
  size_t fewest, most;
};
constexpr std::array kFunctions = std::to_array<Function>({
    {"min", Operator::kMin, 1, 16},
    {"max", Operator::kMax, 1, 16},
    {"abs", Operator::kAbs, 1, 1},
    {"floor", Operator::kFloor, 1, 1},
    {"ceil", Operator::kCeil, 1, 1},
    {"sqrt", Operator::kSqrt, 1, 1},
    {"log2", Operator::kLog2, 1, 1},
});

struct Symbol {
  std::string_view sign;
  Operator op;
};
constexpr std::array kComparisons = std::to_array<Symbol>({
    {"==", Operator::kEqual},
    {"!=", Operator::kUnequal},
    {"<=", Operator::kLessEqual},
    {">=", Operator::kGreaterEqual},
    {"<", Operator::kLess},
    {">", Operator::kGreater},
});
constexpr std::array kSums =
    std::to_array<Symbol>({{"+", Operator::kAdd}, {"-", Operator::kSubtract}});
constexpr std::array kProducts = std::to_array<Symbol>(
    {{"*", Operator::kMultiply}, {"/", Operator::kDivide}, {"%", Operator::kRemainder}});

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool goes_on(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  base::Result<Node> parse() {
    if (text_.size() > kLongest) refuse(fmt::format("is longer than {} characters", kLongest));
    Node root = disjunction();
    skip_blanks();
    if (at_ < text_.size()) refuse_here("an operator");
    if (problem_.empty()) return root;
    const std::string shown(text_.substr(0, 80));
    return base::input_error(fmt::format("\"{}\": {}", shown, problem_));
  }

  std::vector<std::string> names;

 private:
  void refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    at_ = text_.size();
  }
  void refuse_here(std::string_view expected) {
    const std::string found =
        at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 12)) : "the end";
    refuse(fmt::format("found {}; expected {}", found, expected));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && goes_on(rest[word.size()])))
      return false;
    at_ += word.size();
    return true;
  }

  static Node joined(Operator op, Node left, Node right) {
    Node node{op, 0, {}, {}};
    node.inputs.push_back(std::move(left));
    node.inputs.push_back(std::move(right));
    return node;
  }

  Node disjunction() {
    if (++depth_ > kDeepest) refuse(fmt::format("nests more than {} deep", kDeepest));
    Node left = conjunction();
    while (take_word("or") || take("||"))
      left = joined(Operator::kOr, std::move(left), conjunction());
    --depth_;
    return left;
  }
  Node conjunction() {
    Node left = negation();
    while (take_word("and") || take("&&"))
      left = joined(Operator::kAnd, std::move(left), negation());
    return left;
  }
  Node negation() {
    size_t count = 0;
    while (take_word("not") || (!text_.substr(at_).starts_with("!=") && take("!"))) ++count;
    Node inner = comparison();
    if (count == 0) return inner;
    Node result{Operator::kNot, 0, {}, {}};
    result.inputs.push_back(std::move(inner));
    if (count % 2 == 1) return result;
    Node twice{Operator::kNot, 0, {}, {}};
    twice.inputs.push_back(std::move(result));
    return twice;
  }
  Node comparison() {
    Node left = sum();
    for (const Symbol& symbol : kComparisons) {
      if (!take(symbol.sign)) continue;
      left = joined(symbol.op, std::move(left), sum());
      for (const Symbol& second : kComparisons)
        if (skip_blanks(); text_.substr(at_).starts_with(second.sign))
          refuse("compares three things; write a < b and b < c");
      return left;
    }
    return left;
  }
  Node sum() {
    return chain(kSums, [this] { return product(); });
  }
  Node product() {
    return chain(kProducts, [this] { return sign(); });
  }
  template <class Symbols, class Next>
  Node chain(const Symbols& symbols, Next next) {
    Node left = next();
    for (bool more = true; more;) {
      more = false;
      for (const Symbol& symbol : symbols) {
        if (!take(symbol.sign)) continue;
        left = joined(symbol.op, std::move(left), next());
        more = true;
        break;
      }
    }
    return left;
  }
  Node sign() {
    bool negative = false;
    for (;;) {
      if (take("-"))
        negative = !negative;
      else if (!take("+"))
        break;
    }
    Node inner = atom();
    if (!negative) return inner;
    Node result{Operator::kNegate, 0, {}, {}};
    result.inputs.push_back(std::move(inner));
    return result;
  }

  Node atom() {
    skip_blanks();
    if (take("(")) {
      Node inner = disjunction();
      if (!take(")")) refuse_here(")");
      return inner;
    }
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '\'' || c == '"') return quoted(c);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    if (starts_name(c)) return name_or_call();
    refuse_here("a number, a name, a text in quotes or (");
    return {Operator::kNumber, 0, {}, {}};
  }
  Node quoted(char quote) {
    const size_t end = text_.find(quote, at_ + 1);
    Node node{Operator::kText, 0, std::string(text_.substr(at_ + 1, end - at_ - 1)), {}};
    if (end == std::string_view::npos)
      refuse("has a text that is not closed");
    else
      at_ = end + 1;
    return node;
  }
  Node number() {
    size_t end = at_;
    const auto digit = [&](size_t i) {
      return i < text_.size() && std::isdigit(static_cast<unsigned char>(text_[i])) != 0;
    };
    while (digit(end) || (end < text_.size() && text_[end] == '.')) ++end;
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const size_t mantissa = end++;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (!digit(end)) end = mantissa;
      while (digit(end)) ++end;
    }
    const auto value = base::parse_number(text_.substr(at_, end - at_));
    if (!value) refuse_here("a number");
    at_ = std::max(end, at_);
    return {Operator::kNumber, value ? *value : 0, {}, {}};
  }
  Node name_or_call() {
    size_t end = at_;
    while (end < text_.size() &&
           (goes_on(text_[end]) ||
            (text_[end] == '.' && end + 1 < text_.size() && goes_on(text_[end + 1]))))
      ++end;
    const std::string name(text_.substr(at_, end - at_));
    if (name == "and" || name == "or" || name == "not")
      refuse_here("a number, a name, a text in quotes or (");
    at_ = std::max(end, at_);
    if (take("(")) return call(name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    return {Operator::kName, 0, name, {}};
  }
  Node call(const std::string& name) {
    const auto function = std::find_if(kFunctions.begin(), kFunctions.end(),
                                       [&](const Function& f) { return f.name == name; });
    if (function == kFunctions.end()) {
      refuse(fmt::format("{} is not a function; allowed: min, max, abs, floor, ceil, sqrt, log2",
                         name));
      return {Operator::kNumber, 0, {}, {}};
    }
    Node node{function->op, 0, {}, {}};
    do node.inputs.push_back(disjunction());
    while (take(","));
    if (!take(")")) refuse_here(", or )");
    if (node.inputs.size() < function->fewest || node.inputs.size() > function->most)
      refuse(fmt::format("{} takes {} value{}, not {}", name, function->most,
                         function->most == 1 ? "" : "s at most", node.inputs.size()));
    return node;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;
};

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

base::Result<Expression> Expression::parse(std::string_view text) {
  Parser parser(text);
  ERGOMETER_ASSIGN(Node root, parser.parse());
  Expression expression;
  expression.text_ = text;
  expression.names_ = std::move(parser.names);
  expression.root_ = std::make_shared<const Node>(std::move(root));
  return expression;
}

std::optional<Value> Expression::evaluate(const Lookup& lookup) const {
  return root_ == nullptr ? std::nullopt : evaluate_node(*root_, lookup);
}

std::optional<double> Expression::number(const Lookup& lookup) const {
  return root_ == nullptr ? std::nullopt : number_of(*root_, lookup);
}

}  // namespace ergometer::study
