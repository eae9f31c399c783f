#include "study/file/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace ergometer::study {
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

bool starts_name(char c) { return base::is_letter(c) || c == '_'; }
bool goes_on(char c) { return base::is_letter_or_digit(c) || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Node> parse() {
    if (text_.size() > kLongest) refuse(fmt::format("is longer than {} characters", kLongest));
    Node root = disjunction();
    skip_blanks();
    if (at_ < text_.size()) refuse_here("an operator");
    if (problem_.empty()) return root;
    const std::string shown(text_.substr(0, 80));
    return input_error("\"{}\": {}", shown, problem_);
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
    if (base::is_digit(c) || c == '.') return number();
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
    const auto digit = [&](size_t i) { return i < text_.size() && base::is_digit(text_[i]); };
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

}  // namespace

Result<ParsedExpression> parse_expression(std::string_view text) {
  Parser parser(text);
  ERGOMETER_ASSIGN(Node root, parser.parse());
  return ParsedExpression{std::move(root), std::move(parser.names)};
}

}  // namespace ergometer::study
