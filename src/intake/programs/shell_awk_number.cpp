#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/text.h"
#include "intake/programs/shell_utilities.h"

// awk as a calculator: BEGIN {print EXPRESSION}.

namespace ergometer::intake {
namespace {

using AwkVariables = std::map<std::string, double, std::less<>>;

/// + - * / %, brackets, int(), numbers and names, in double precision as awk computes.
class AwkExpression {
 public:
  AwkExpression(std::string_view text, const AwkVariables& variables)
      : text_(text), variables_(variables) {}

  std::optional<double> value() {
    const double result = sum();
    skip_blanks();
    if (bad_ || at_ < text_.size() || !std::isfinite(result)) return std::nullopt;
    return result;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  double sum() {
    double result = product();
    while (!bad_) {
      if (take('+'))
        result += product();
      else if (take('-'))
        result -= product();
      else
        break;
    }
    return result;
  }
  double product() {
    double result = factor();
    while (!bad_) {
      if (take('*'))
        result *= factor();
      else if (take('/'))
        result /= factor();
      else if (take('%'))
        result = std::fmod(result, factor());
      else
        break;
    }
    return result;
  }
  double factor() {
    constexpr int kDeepest = 64;
    if (++depth_ > kDeepest) return fail();
    double result = 0;
    if (take('-'))
      result = -factor();
    else if (take('('))
      result = in_brackets();
    else
      result = atom();
    --depth_;
    return result;
  }
  double in_brackets() {
    const double result = sum();
    return take(')') ? result : fail();
  }
  double atom() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (base::is_letter_or_digit(text_[at_]) || text_[at_] == '.' || text_[at_] == '_'))
      ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word == "int" && take('(')) return std::trunc(in_brackets());
    if (const auto it = variables_.find(word); it != variables_.end()) return it->second;
    const auto number = base::parse_number(word);
    return number ? *number : fail();
  }
  double fail() {
    bad_ = true;
    return 0;
  }

  std::string_view text_;
  const AwkVariables& variables_;
  size_t at_ = 0;
  int depth_ = 0;
  bool bad_ = false;
};

/// A whole number as it is, others to six digits.
std::string printed(double value) {
  constexpr double kExact = 1e15;
  return std::trunc(value) == value && std::abs(value) < kExact ? fmt::format("{:.0f}", value)
                                                                : fmt::format("{:.6g}", value);
}

/// "%d" and "%.2f", with or without the end of a line.
std::optional<std::string> formatted(std::string format, double value) {
  std::string end;
  if (format.ends_with("\\n")) {
    format.resize(format.size() - 2);
    end = "\n";
  }
  if (format == "%d" || format == "%i") return fmt::format("{:.0f}{}", std::trunc(value), end);
  if (format.size() == 4 && format.starts_with("%.") && format[2] >= '0' && format[2] <= '9' &&
      format[3] == 'f')
    return fmt::format("{:.{}f}{}", value, format[2] - '0', end);
  return std::nullopt;
}

std::string_view without_ends(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == ';'))
    text.remove_suffix(1);
  return text;
}

std::optional<std::string> printed_by(std::string_view program, const AwkVariables& variables) {
  program = without_ends(program);
  if (!program.starts_with("BEGIN")) return std::nullopt;
  program = without_ends(program.substr(5));
  if (!program.starts_with('{') || !program.ends_with('}')) return std::nullopt;
  program = without_ends(program.substr(1, program.size() - 2));
  const bool formats = program.starts_with("printf");
  if (!program.starts_with("print")) return std::nullopt;
  program = without_ends(program.substr(formats ? 6 : 5));
  if (!formats) {
    const auto value = AwkExpression(program, variables).value();
    return value ? std::optional(printed(*value) + "\n") : std::nullopt;
  }
  if (program.starts_with('(') && program.ends_with(')'))
    program = without_ends(program.substr(1, program.size() - 2));
  const size_t comma = program.find(','), quote = program.find('"', 1);
  if (!program.starts_with('"') || comma == program.npos || quote > comma) return std::nullopt;
  const auto value = AwkExpression(program.substr(comma + 1), variables).value();
  return value ? formatted(std::string(program.substr(1, quote - 1)), *value) : std::nullopt;
}

}  // namespace

std::optional<UtilityResult> awk_number(const std::vector<ShellText>& words) {
  AwkVariables variables;
  for (size_t i = 1; i < words.size(); ++i) {
    std::string word = words[i].text;
    if (ShellUnknowns::in(word)) return std::nullopt;
    if (!word.starts_with("-v")) {
      const auto output = i + 1 == words.size() ? printed_by(word, variables) : std::nullopt;
      return output ? std::optional(UtilityResult{*output, 0}) : std::nullopt;
    }
    if (word == "-v" && i + 1 < words.size())
      word = words[++i].text;
    else
      word.erase(0, 2);
    const size_t equals = word.find('=');
    const auto number = base::parse_number(equals == word.npos ? "" : word.substr(equals + 1));
    if (!number) return std::nullopt;
    variables[word.substr(0, equals)] = *number;
  }
  return std::nullopt;
}

}  // namespace ergometer::intake
