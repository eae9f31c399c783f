#include "intake/shell/shell_arithmetic.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "intake/shell/shell_state.h"

namespace ergometer::intake {
namespace {

constexpr int kDeepestExpression = 64;

/// Wraps around as the processor does, without being undefined.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

class ArithmeticReader {
 public:
  ArithmeticReader(std::string_view text, const ArithmeticScope& scope, int depth)
      : text_(text), scope_(scope), depth_(depth) {}

  Result<std::string> read() {
    blanks();
    int64_t value = at_ < text_.size() ? comma() : 0;
    blanks();
    if (error_.empty() && at_ < text_.size())
      fail(fmt::format("\"{}\" is not part of an expression", text_.substr(at_, 20)));
    if (!unknown_.empty()) return unknown_;
    if (!error_.empty()) return input_error("$(({})): {}", text_.substr(0, 60), error_);
    return std::to_string(value);
  }

 private:
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    at_ = text_.size();
  }
  /// Takes an operator unless a longer one begins with it.
  bool take(std::string_view op, std::string_view not_before = "") {
    blanks();
    if (text_.substr(at_, op.size()) != op) return false;
    const char next = at_ + op.size() < text_.size() ? text_[at_ + op.size()] : '\0';
    if (next != '\0' && not_before.find(next) != not_before.npos) return false;
    at_ += op.size();
    return true;
  }

  int64_t comma() {
    int64_t value = choice();
    while (take(",")) value = choice();
    return value;
  }
  int64_t choice() {
    if (++depth_ > kDeepestExpression) {
      fail("nests too deep");
      return 0;
    }
    const int64_t condition = level(0);
    int64_t value = condition;
    if (take("?")) {
      const int64_t yes = choice();
      if (!take(":")) fail("? has no :");
      const int64_t no = choice();
      value = condition != 0 ? yes : no;
    }
    --depth_;
    return value;
  }

  struct Operator {
    std::string_view text, not_before;
    int level;
  };
  /// Weakest first; `not_before` keeps `<` from taking half of `<<`.
  static constexpr std::array kOperators = std::to_array<Operator>({
      {"||", "", 0},
      {"&&", "", 1},
      {"|", "|=", 2},
      {"^", "=", 3},
      {"&", "&=", 4},
      {"==", "", 5},
      {"!=", "", 5},
      {"<=", "", 6},
      {">=", "", 6},
      {"<", "<=", 6},
      {">", ">=", 6},
      {"<<", "=", 7},
      {">>", "=", 7},
      {"+", "+=", 8},
      {"-", "-=", 8},
      {"*", "*=", 9},
      {"/", "=", 9},
      {"%", "=", 9},
  });
  int64_t level(int strength) {
    if (strength > 9) return power();
    int64_t left = level(strength + 1);
    while (error_.empty()) {
      const Operator* found = nullptr;
      for (const Operator& op : kOperators)
        if (op.level == strength && found == nullptr && take(op.text, op.not_before)) found = &op;
      if (found == nullptr) break;
      left = apply(found->text, left, level(strength + 1));
    }
    return left;
  }
  int64_t apply(std::string_view op, int64_t a, int64_t b) {
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "|") return a | b;
    if (op == "^") return a ^ b;
    if (op == "&") return a & b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "<<") return wrapped(bits(a) << (bits(b) & 63));
    if (op == ">>") return a >> (bits(b) & 63);
    if (op == "+") return wrapped(bits(a) + bits(b));
    if (op == "-") return wrapped(bits(a) - bits(b));
    if (op == "*") return wrapped(bits(a) * bits(b));
    return divide(op, a, b);
  }
  int64_t divide(std::string_view op, int64_t a, int64_t b) {
    if (b == 0) {
      // Of an unknown divisor nothing is said.
      fail("division by 0");
      return 0;
    }
    if (b == -1) return op == "/" ? wrapped(0 - bits(a)) : 0;
    return op == "/" ? a / b : a % b;
  }
  int64_t power() {
    const int64_t base = unary();
    if (!take("**")) return base;
    int64_t exponent = power();
    if (exponent < 0 || exponent > 64) {
      fail("an exponent beside 0 to 64");
      return 0;
    }
    int64_t value = 1;
    while (exponent-- > 0) value = wrapped(bits(value) * bits(base));
    return value;
  }
  int64_t unary() {
    if (++depth_ > kDeepestExpression) {
      fail("nests too deep");
      return 0;
    }
    int64_t value = 0;
    if (take("!", "="))
      value = unary() == 0;
    else if (take("~"))
      value = ~unary();
    else if (take("++") || take("--"))
      value = before_name(text_[at_ - 1] == '+' ? 1 : -1);
    else if (take("-"))
      value = wrapped(0 - bits(unary()));
    else if (take("+"))
      value = unary();
    else
      value = primary();
    --depth_;
    return value;
  }
  int64_t before_name(int64_t change) {
    const std::string_view name = take_name();
    if (name.empty()) {
      fail("++ and -- need a variable");
      return 0;
    }
    return assign(name, wrapped(bits(value_of(name)) + bits(change)));
  }
  int64_t primary() {
    blanks();
    if (take("(")) {
      const int64_t value = comma();
      if (!take(")")) fail("( has no )");
      return value;
    }
    if (at_ >= text_.size()) {
      fail("a value is missing");
      return 0;
    }
    if (text_[at_] == '\x01') return unknown_mark();
    if (base::is_digit(text_[at_])) return number();
    const std::string_view name = take_name();
    if (name.empty()) {
      fail(fmt::format("\"{}\" is not a value", text_.substr(at_, 20)));
      return 0;
    }
    return after_name(name);
  }
  std::string_view take_name() {
    blanks();
    size_t end = at_;
    while (end < text_.size() && (base::is_letter_or_digit(text_[end]) || text_[end] == '_')) ++end;
    if (end < text_.size() && text_[end] == '[' && end > at_) {
      const size_t close = text_.find(']', end);
      if (close != text_.npos) end = close + 1;
    }
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    return name;
  }
  int64_t after_name(std::string_view name) {
    constexpr std::array<std::string_view, 10> kAssigning = {
        "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="};
    for (const std::string_view op : kAssigning)
      if (take(op))
        return assign(name, apply(op.substr(0, op.size() - 1), value_of(name), choice()));
    if (take("=", "=")) return assign(name, choice());
    if (take("++")) {
      const int64_t before = value_of(name);
      assign(name, wrapped(bits(before) + 1));
      return before;
    }
    if (take("--")) {
      const int64_t before = value_of(name);
      assign(name, wrapped(bits(before) - 1));
      return before;
    }
    return value_of(name);
  }
  int64_t assign(std::string_view name, int64_t value) {
    if (error_.empty()) scope_.set(name, unknown_.empty() ? std::to_string(value) : unknown_);
    return value;
  }
  int64_t value_of(std::string_view name) {
    const std::string text = scope_.get(name);
    if (ShellUnknowns::in(text)) {
      if (unknown_.empty()) unknown_ = ShellUnknowns::first(text);
      return 1;
    }
    if (text.empty()) return 0;
    if (depth_ + 8 > kDeepestExpression) {
      fail("variables refer to each other");
      return 0;
    }
    const auto value = ArithmeticReader(text, scope_, depth_ + 8).read();
    if (!value) {
      fail(fmt::format("{} is \"{}\", which is not a number", name, text.substr(0, 40)));
      return 0;
    }
    if (ShellUnknowns::in(*value)) {
      if (unknown_.empty()) unknown_ = *value;
      return 1;
    }
    int64_t number = 0;
    std::from_chars(value->data(), value->data() + value->size(), number);
    return number;
  }
  int64_t unknown_mark() {
    if (unknown_.empty()) unknown_ = ShellUnknowns::first(text_.substr(at_));
    const size_t end = text_.find('\x02', at_);
    at_ = end == text_.npos ? text_.size() : end + 1;
    return 1;
  }
  int64_t number() {
    int radix = 10;
    // 10#08: a number of another base.
    size_t digits = at_;
    while (digits < text_.size() && base::is_digit(text_[digits])) ++digits;
    constexpr int kLargestRadix = 36;
    int said = 0;
    if (digits < text_.size() && text_[digits] == '#' &&
        std::from_chars(text_.data() + at_, text_.data() + digits, said).ec == std::errc() &&
        said >= 2 && said <= kLargestRadix) {
      radix = said;
      at_ = digits + 1;
    } else if (text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X") {
      radix = 16;
      at_ += 2;
    } else if (text_[at_] == '0') {
      radix = 8;
    }
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto read = std::from_chars(begin, text_.data() + text_.size(), value, radix);
    at_ += static_cast<size_t>(read.ptr - begin);
    if (read.ec != std::errc()) fail("a number beyond 64 bits");
    if (at_ < text_.size() && (base::is_letter_or_digit(text_[at_]) || text_[at_] == '#'))
      fail(fmt::format("\"{}\" is not a whole number", text_.substr(at_ - 1, 20)));
    return value;
  }

  std::string_view text_;
  const ArithmeticScope& scope_;
  size_t at_ = 0;
  int depth_;
  std::string error_, unknown_;
};

}  // namespace

Result<std::string> shell_arithmetic(std::string_view expression, const ArithmeticScope& scope) {
  // The shell takes quotes away before it reads an expression.
  std::string plain(expression);
  std::erase(plain, '"');
  return ArithmeticReader(plain, scope, 0).read();
}

}  // namespace ergometer::intake
