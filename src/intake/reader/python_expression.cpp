#include "intake/reader/python_expression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/collection.h"
#include "base/text.h"
#include "intake/reader/python_functions.h"
#include "intake/reader/python_operators.h"

namespace ergometer::intake {

/// Reads an expression from left to right and works it out on the way.
class PythonExpression {
 public:
  using Value = PythonValues::Value;

  PythonExpression(PythonValues& values, std::string_view text, size_t place)
      : values_(values), text_(text), place_(place) {}

  /// All of the text.
  Value whole();
  /// As much as belongs to it: `CONDITION else ...`, `CONDITION: ...`.
  Value first();

 private:
  struct Term {
    Value value;
    std::string path;    ///< a name that nothing was made of yet: "os.environ.get"
    std::string method;  ///< of the value
  };

  Value choice();
  Value disjunction();
  Value conjunction();
  Value negation();
  Value comparison();
  Value sum();
  Value product();
  Value unary();
  Value signed_value();
  Value postfix();
  Term atom();
  Value number();
  Value string();
  Value formatted(std::string_view text);
  Value list(char close);
  Value dictionary();
  PythonCall arguments();
  Value call(const std::string& path, const PythonCall& call);
  Value from_environment(const PythonCall& call);
  Value subscript(const Term& term);
  Value settled(const Term& term);

  /// What is not read here ends the expression.
  Value fail();
  void skip();
  bool take(std::string_view symbol);
  bool take_word(std::string_view word);
  bool ahead(std::string_view symbol);

  PythonValues& values_;
  const std::string_view text_;
  const size_t place_;
  size_t at_ = 0;
  bool failed_ = false;
};

namespace {

using Json = nlohmann::json;
using Value = PythonValues::Value;

constexpr size_t kMostItems = kMostPythonArguments;

bool is_environment(std::string_view function) {
  return function == "getenv" || function == "os.getenv" || function == "environ.get" ||
         function == "os.environ.get";
}

Json unknown_item() { return Json(Json::value_t::discarded); }

}  // namespace

Value python_expression(PythonValues& values, std::string_view text, size_t place, bool whole) {
  PythonExpression expression(values, text, place);
  return whole ? expression.whole() : expression.first();
}

void PythonExpression::skip() {
  while (at_ < text_.size() &&
         std::string_view(" \t\r\n\\").find(text_[at_]) != std::string_view::npos)
    ++at_;
}

bool PythonExpression::ahead(std::string_view symbol) {
  skip();
  return text_.substr(at_).starts_with(symbol);
}

bool PythonExpression::take(std::string_view symbol) {
  if (!ahead(symbol)) return false;
  at_ += symbol.size();
  return true;
}

bool PythonExpression::take_word(std::string_view word) {
  if (!ahead(word)) return false;
  const size_t end = at_ + word.size();
  if (end < text_.size() && is_word(text_[end])) return false;
  at_ = end;
  return true;
}

Value PythonExpression::whole() {
  Value value = choice();
  skip();
  return at_ == text_.size() && !failed_ ? value : std::nullopt;
}

Value PythonExpression::first() {
  Value value = disjunction();
  return failed_ ? std::nullopt : value;
}

Value PythonExpression::fail() {
  failed_ = true;
  at_ = text_.size();
  return std::nullopt;
}

Value PythonExpression::choice() {
  Value then = disjunction();
  if (!take_word("if")) return then;
  const Value condition = disjunction();
  if (!take_word("else")) return std::nullopt;
  Value otherwise = choice();
  if (!condition) return std::nullopt;
  return python_truth(*condition) ? then : otherwise;
}

Value PythonExpression::disjunction() {
  Value left = conjunction();
  while (take_word("or")) {
    Value right = conjunction();
    if (left && !python_truth(*left)) left = std::move(right);
  }
  return left;
}

Value PythonExpression::conjunction() {
  Value left = negation();
  while (take_word("and")) {
    Value right = negation();
    if (left && python_truth(*left)) left = std::move(right);
  }
  return left;
}

Value PythonExpression::negation() {
  bool negated = false;
  while (take_word("not")) negated = !negated;
  Value value = comparison();
  return negated && value ? Value(Json(!python_truth(*value))) : value;
}

Value PythonExpression::comparison() {
  skip();
  const size_t begin = at_;
  Value left = sum();
  const std::string name = trimmed(text_.substr(begin, at_ - begin));
  for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"})
    if (take(sign)) return python_compared(sign, left, sum());
  if (take_word("not"))
    return take_word("in") ? python_compared("not in", left, sum()) : std::nullopt;
  if (take_word("in")) return python_compared("in", left, sum());
  if (!take_word("is")) return left;
  const bool negated = take_word("not");
  const Value right = sum();
  if (!left && right && right->is_null() && values_.is_made(name, place_)) return Json(negated);
  return python_compared(negated ? "is not" : "is", left, right);
}

Value PythonExpression::sum() {
  Value left = product();
  while (true) {
    const char* sign = ahead("+") ? "+" : ahead("-") ? "-" : ahead("|") ? "|" : nullptr;
    if (sign == nullptr) return left;
    ++at_;
    left = python_combined(sign, left, product());
  }
}

Value PythonExpression::product() {
  Value left = unary();
  while (true) {
    const char* sign = ahead("**")   ? nullptr
                       : ahead("*")  ? "*"
                       : ahead("//") ? "//"
                       : ahead("/")  ? "/"
                       : ahead("%")  ? "%"
                                     : nullptr;
    if (sign == nullptr) return left;
    at_ += std::string_view(sign).size();
    left = python_combined(sign, left, unary());
  }
}

Value PythonExpression::unary() {
  // Brackets within brackets, names behind names: no deeper than what somebody writes.
  constexpr int kDeepest = 60;
  if (values_.depth_ > kDeepest) return fail();
  ++values_.depth_;
  Value value = signed_value();
  --values_.depth_;
  return value;
}

Value PythonExpression::signed_value() {
  if (take("-")) return python_combined("-", Json(0), unary());
  if (take("+")) return unary();
  Value base = postfix();
  return take("**") ? python_combined("**", base, unary()) : base;
}

Value PythonExpression::settled(const Term& term) {
  if (!term.method.empty()) return std::nullopt;
  return term.path.empty() ? term.value : values_.named(term.path, place_);
}

Value PythonExpression::postfix() {
  Term term = atom();
  while (at_ < text_.size()) {
    if (ahead("[")) {
      Value item = subscript(term);
      term = {std::move(item), "", ""};
    } else if (ahead("(")) {
      const PythonCall given = arguments();
      Value made = !term.path.empty() ? call(term.path, given)
                   : term.value && !term.method.empty()
                       ? python_method(*term.value, term.method, given)
                       : std::nullopt;
      term = {std::move(made), "", ""};
    } else if (ahead(".")) {
      ++at_;
      skip();
      const size_t begin = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      const std::string name(text_.substr(begin, at_ - begin));
      if (!term.path.empty())
        term.path += "." + name;
      else
        term.method = name;
    } else {
      break;
    }
  }
  return settled(term);
}

PythonExpression::Term PythonExpression::atom() {
  skip();
  if (at_ >= text_.size()) return {};
  const char c = text_[at_];
  if (c == '(') {
    ++at_;
    return {list(')'), "", ""};
  }
  if (c == '[') {
    ++at_;
    return {list(']'), "", ""};
  }
  if (c == '{') return {dictionary(), "", ""};
  if (base::is_digit(c) || c == '.') return {number(), "", ""};
  const size_t quote = text_.find_first_of("\"'", at_);
  const bool prefixed = quote != text_.npos && quote - at_ <= 2 &&
                        std::ranges::all_of(text_.substr(at_, quote - at_), [](char p) {
                          return std::string_view("fFrRbBuU").find(p) != std::string_view::npos;
                        });
  if (prefixed) return {string(), "", ""};
  const size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  const std::string name(text_.substr(begin, at_ - begin));
  if (name.empty()) {
    fail();
    return {};
  }
  if (name == "True" || name == "False") return {Json(name == "True"), "", ""};
  if (name == "None") return {Json(nullptr), "", ""};
  return {std::nullopt, name, ""};
}

Value PythonExpression::number() {
  std::string digits;
  while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' ||
                                ((text_[at_] == '-' || text_[at_] == '+') && !digits.empty() &&
                                 (digits.back() == 'e' || digits.back() == 'E'))))
    digits += text_[at_++];
  std::erase(digits, '_');
  if (const auto whole = base::parse_integer(digits)) return Json(*whole);
  const auto real = base::parse_number(digits);
  return real ? Value(Json(*real)) : std::nullopt;
}

Value PythonExpression::string() {
  std::optional<std::string> all = "";
  const std::string whole(text_);
  while (true) {
    skip();
    const size_t quote = text_.find_first_of("\"'", at_);
    if (quote == text_.npos || quote - at_ > 2 ||
        !std::ranges::all_of(text_.substr(at_, quote - at_), [](char p) {
          return std::string_view("fFrRbBuU").find(p) != std::string_view::npos;
        }))
      break;
    const std::string prefix = base::lower(text_.substr(at_, quote - at_));
    const size_t end = behind_string(whole, quote);
    const bool triple = whole.compare(quote, 3, std::string(3, whole[quote])) == 0;
    const size_t marks = triple ? 3 : 1;
    if (end < quote + 2 * marks) return fail();
    const std::string_view inner = text_.substr(quote + marks, end - quote - 2 * marks);
    at_ = end;
    const bool open = base::contains(prefix, "f");
    const bool raw = base::contains(prefix, "r");
    const Value part = open  ? formatted(inner)
                       : raw ? Value(Json(std::string(inner)))
                             : Value(Json(unescaped(inner)));
    if (part && part->is_string() && all)
      *all += part->get<std::string>();
    else
      all.reset();
  }
  return all ? Value(Json(*all)) : std::nullopt;
}

/// f"{size}b": names and expressions alone, without a form behind a colon.
Value PythonExpression::formatted(std::string_view text) {
  std::string all;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool twice = i + 1 < text.size() && text[i + 1] == text[i];
    if ((text[i] == '{' || text[i] == '}') && twice) ++i;
    if (text[i] != '{' || twice) {
      all += text[i];
      continue;
    }
    const size_t end = text.find('}', i);
    if (end == text.npos) return std::nullopt;
    const Value part = PythonExpression(values_, text.substr(i + 1, end - i - 1), place_).whole();
    const Value said = part ? python_str(*part) : std::nullopt;
    if (!said) return std::nullopt;
    all += said->get<std::string>();
    i = end;
  }
  return Json(all);
}

Value PythonExpression::list(char close) {
  const std::string_view end(&close, 1);
  Json items = Json::array();
  bool comma = false, whole = true;
  while (!take(end)) {
    if (at_ >= text_.size() || items.size() > kMostItems) return fail();
    whole = !take("*") && whole;
    Value item = choice();
    items.push_back(item ? *std::move(item) : unknown_item());
    if (take(","))
      comma = true;
    else if (!ahead(end))
      return fail();
  }
  if (!whole) return std::nullopt;
  if (close == ')' && !comma && items.size() == 1)
    return items[0].is_discarded() ? std::nullopt : Value(items[0]);
  return items;
}

Value PythonExpression::dictionary() {
  take("{");
  Json all = Json::object();
  bool whole = true;
  while (!take("}")) {
    if (at_ >= text_.size() || all.size() > kMostItems) return fail();
    if (take("**")) {
      const Value other = choice();
      whole = whole && other && other->is_object();
      if (whole)
        for (const auto& [key, item] : other->items()) all[key] = item;
    } else {
      const Value key = choice();
      if (!take(":")) return fail();
      Value item = choice();
      const Value name = key ? python_str(*key) : std::nullopt;
      whole = whole && name.has_value();
      if (name) all[name->get<std::string>()] = item ? *std::move(item) : unknown_item();
    }
    if (!take(",") && !ahead("}")) return fail();
  }
  return whole ? Value(all) : std::nullopt;
}

PythonCall PythonExpression::arguments() {
  PythonCall made;
  take("(");
  while (!take(")")) {
    if (at_ >= text_.size() || made.items.size() + made.named.size() > kMostItems) {
      fail();
      break;
    }
    if (take("**")) {
      const Value other = choice();
      made.spreads = made.spreads || !other || !other->is_object();
      if (other && other->is_object())
        for (const auto& [key, item] : other->items())
          made.named.emplace_back(key, item.is_discarded() ? std::nullopt : Value(item));
    } else if (take("*")) {
      choice();
      made.spreads = true;
    } else {
      skip();
      size_t end = at_;
      while (end < text_.size() && is_word(text_[end])) ++end;
      const size_t equals = text_.find_first_not_of(" \t\r\n", end);
      const bool named = end > at_ && equals != text_.npos && text_[equals] == '=' &&
                         text_.substr(equals, 2) != "==";
      const std::string name(named ? text_.substr(at_, end - at_) : "");
      if (named) at_ = equals + 1;
      const size_t begin = at_;
      Value value = choice();
      if (!named && made.items.empty())
        made.first = trimmed(std::string_view(text_).substr(begin, at_ - begin));
      if (named)
        made.named.emplace_back(name, std::move(value));
      else
        made.items.push_back(std::move(value));
    }
    if (!take(",") && !ahead(")")) {
      fail();
      break;
    }
  }
  return made;
}

Value PythonExpression::call(const std::string& path, const PythonCall& given) {
  if (failed_ || given.spreads) return std::nullopt;
  if (is_environment(path)) return from_environment(given);
  Value made;
  if (python_function(path, given, made)) return made;
  const size_t dot = path.rfind('.');
  if (dot == path.npos) return values_.unknown(path + "(...)");
  const Value self = values_.named(path.substr(0, dot), place_);
  if (self) made = python_method(*self, path.substr(dot + 1), given);
  return made ? made : values_.unknown(values_.why_.empty() ? path + "(...)" : values_.why_);
}

Value PythonExpression::from_environment(const PythonCall& given) {
  const Value name = given.item(0);
  Value fallback = given.items.size() > 1 ? given.item(1) : Value(Json(nullptr));
  for (const auto& [key, value] : given.named) fallback = value;
  if (!name || !name->is_string()) return std::nullopt;
  return values_.environment(name->get<std::string>(), fallback, true);
}

Value PythonExpression::subscript(const Term& term) {
  take("[");
  const Value key = choice();
  if (!take("]")) return fail();
  if ((term.path == "os.environ" || term.path == "environ") && key && key->is_string())
    return values_.environment(key->get<std::string>(), std::nullopt, false);
  const Value self = settled(term);
  if (!self || !key) return std::nullopt;
  if (self->is_object() && key->is_string()) {
    const auto name = key->get<std::string>();
    return self->contains(name) && !(*self)[name].is_discarded() ? Value((*self)[name])
                                                                 : std::nullopt;
  }
  if (self->is_array() && key->is_number_integer()) {
    const int64_t size = static_cast<int64_t>(self->size());
    int64_t at = key->get<int64_t>();
    if (at < 0) at += size;
    if (at < 0 || at >= size || (*self)[static_cast<size_t>(at)].is_discarded())
      return std::nullopt;
    return (*self)[static_cast<size_t>(at)];
  }
  return std::nullopt;
}

}  // namespace ergometer::intake
