#include "intake/shell/shell_condition.h"

#include <regex.h>

#include <array>
#include <filesystem>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::intake {
namespace {

using Answer = std::optional<bool>;

/// A word of a test: its value, the same as a pattern, and how it stands in the script.
struct TestWord {
  std::string text, pattern, raw;
};

constexpr std::array kBinary =
    std::to_array<std::string_view>({"=", "==", "!=", "<", ">", "=~", "-eq", "-ne", "-lt", "-le",
                                     "-gt", "-ge", "-nt", "-ot", "-ef"});

class TestReader {
 public:
  TestReader(std::vector<TestWord> words, ShellExpander& expander, const ShellUnknowns& unknowns,
             const ShellState& state, bool doubled)
      : words_(std::move(words)),
        expander_(expander),
        unknowns_(unknowns),
        state_(state),
        doubled_(doubled) {}

  Answer read() {
    if (words_.empty()) return false;
    const Answer answer = any();
    return at_ < words_.size() ? Answer(false) : answer;  // bash: an error, which counts as no
  }
  std::vector<ShellText> matches;

 private:
  bool is(std::string_view raw) const { return at_ < words_.size() && words_[at_].raw == raw; }
  Answer any() {
    Answer left = all();
    while (is("||") || (!doubled_ && is("-o"))) {
      ++at_;
      left = joined(left, all(), true);
    }
    return left;
  }
  Answer all() {
    Answer left = negation();
    while (is("&&") || (!doubled_ && is("-a"))) {
      ++at_;
      left = joined(left, negation(), false);
    }
    return left;
  }
  /// Of two answers one that `decides` is enough, known or not the other.
  static Answer joined(Answer left, Answer right, bool decides) {
    if (left == decides || right == decides) return decides;
    return left && right ? Answer(!decides) : std::nullopt;
  }
  Answer negation() {
    if (++depth_ > 100) return std::nullopt;
    Answer answer;
    if (is("!") && at_ + 1 < words_.size()) {
      ++at_;
      answer = negation();
      if (answer) answer = !*answer;
    } else {
      answer = primary();
    }
    --depth_;
    return answer;
  }
  Answer primary() {
    if (at_ >= words_.size()) return false;
    if (is("(") && at_ + 2 < words_.size()) {
      ++at_;
      const Answer answer = any();
      if (is(")")) ++at_;
      return answer;
    }
    if (at_ + 2 < words_.size() && base::contains(kBinary, words_[at_ + 1].raw)) {
      const TestWord& left = words_[at_];
      const std::string op = words_[at_ + 1].raw;
      const TestWord& right = words_[at_ + 2];
      at_ += 3;
      return binary(left, op, right);
    }
    const std::string& raw = words_[at_].raw;
    if (raw.size() == 2 && raw[0] == '-' && at_ + 1 < words_.size()) {
      at_ += 2;
      return unary(raw[1], words_[at_ - 1].text);
    }
    return unary('n', words_[at_++].text);
  }

  /// -v NAME, -v NAME[INDEX]
  bool is_set_variable(const std::string& text) const {
    const size_t bracket = text.find('[');
    const auto it = state_.variables.find(text.substr(0, bracket));
    if (it == state_.variables.end() || bracket == text.npos || !text.ends_with(']'))
      return it != state_.variables.end();
    const ShellVariable& variable = it->second;
    const std::string index = text.substr(bracket + 1, text.size() - bracket - 2);
    if (variable.kind == ShellVariable::Kind::kMap) return variable.entries.contains(index);
    const auto at = base::parse_integer(index);
    return at && *at >= 0 && *at < std::ssize(variable.items) &&
           variable.items[static_cast<size_t>(*at)].text != kUnsetItem;
  }

  Answer unary(char op, const std::string& text) {
    if (op == 'n' || op == 'z') {
      if (unknowns_.may_be_empty(text)) return std::nullopt;
      return text.empty() == (op == 'z');
    }
    if (op == 'v') return is_set_variable(text);
    if (std::string_view("fdeasrwxLh").find(op) == std::string_view::npos) return std::nullopt;
    if (ShellUnknowns::in(text)) return std::nullopt;
    if (text.empty()) return false;
    if (state_.files.contains(text)) return op != 'd';
    std::error_code ignored;
    const std::filesystem::path path = std::filesystem::path(state_.folder) / text;
    if (!std::filesystem::exists(path, ignored)) return std::nullopt;
    return op == 'd'   ? std::filesystem::is_directory(path, ignored)
           : op == 'f' ? std::filesystem::is_regular_file(path, ignored)
                       : true;
  }

  Answer binary(const TestWord& left, const std::string& op, const TestWord& right) {
    if (op == "=" || op == "==" || op == "!=") {
      const Answer same =
          doubled_ && !ShellUnknowns::in(left.text) && !ShellUnknowns::in(right.text)
              ? matches_pattern(left.text, right.pattern, state_.any_case)
              : same_text(left.text, right.text);
      return same ? Answer(*same == (op != "!=")) : same;
    }
    if (op == "=~") return matches_expression(left.text, right);
    if (op[0] != '-') {
      if (ShellUnknowns::in(left.text) || ShellUnknowns::in(right.text)) return std::nullopt;
      return op == "<" ? left.text < right.text : left.text > right.text;
    }
    if (op == "-nt" || op == "-ot" || op == "-ef") return std::nullopt;
    return numbers(left.text, op, right.text);
  }
  Answer same_text(const std::string& left, const std::string& right) const {
    if (left == right) return true;
    if (unknowns_.may_be_empty(left) || unknowns_.may_be_empty(right)) return std::nullopt;
    if (left.empty() || right.empty()) return false;
    if (ShellUnknowns::in(left) || ShellUnknowns::in(right)) return std::nullopt;
    return false;
  }
  Answer numbers(const std::string& left, const std::string& op, const std::string& right) {
    const std::string a_text = doubled_ ? expander_.arithmetic(left) : left;
    const std::string b_text = doubled_ ? expander_.arithmetic(right) : right;
    if (ShellUnknowns::in(a_text) || ShellUnknowns::in(b_text)) return std::nullopt;
    const auto a = base::parse_integer(a_text), b = base::parse_integer(b_text);
    if (!a || !b) return false;  // bash: "integer expression expected", which counts as no
    if (op == "-eq") return *a == *b;
    if (op == "-ne") return *a != *b;
    if (op == "-lt") return *a < *b;
    if (op == "-le") return *a <= *b;
    return op == "-gt" ? *a > *b : *a >= *b;
  }
  Answer matches_expression(const std::string& text, const TestWord& right) {
    constexpr size_t kLongest = 1'000;
    const std::string& expression =
        right.raw.find('"') == std::string::npos ? right.text : right.pattern;
    if (ShellUnknowns::in(text) || ShellUnknowns::in(expression)) return std::nullopt;
    // Counted repetitions are unrolled by the library, without bound.
    if (text.size() > kLongest || expression.size() > 200 ||
        expression.find('{') != expression.npos)
      return std::nullopt;
    regex_t compiled;
    if (regcomp(&compiled, expression.c_str(), REG_EXTENDED | (state_.any_case ? REG_ICASE : 0)) !=
        0)
      return false;
    std::array<regmatch_t, 10> groups;
    const bool found = regexec(&compiled, text.c_str(), groups.size(), groups.data(), 0) == 0;
    if (found)
      for (const regmatch_t& group : groups)
        if (group.rm_so >= 0)
          matches.push_back({text.substr(static_cast<size_t>(group.rm_so),
                                         static_cast<size_t>(group.rm_eo - group.rm_so)),
                             0});
    regfree(&compiled);
    return found;
  }

  std::vector<TestWord> words_;
  ShellExpander& expander_;
  const ShellUnknowns& unknowns_;
  const ShellState& state_;
  bool doubled_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<bool> shell_test(const std::vector<ShellText>& words, ShellExpander& expander,
                               const ShellUnknowns& unknowns, const ShellState& state) {
  std::vector<TestWord> read;
  for (const ShellText& word : words) read.push_back({word.text, word.text, word.text});
  return TestReader(std::move(read), expander, unknowns, state, false).read();
}

std::optional<bool> shell_condition(const std::vector<RawWord>& words, ShellExpander& expander,
                                    ShellSession& session, ShellState& state) {
  std::vector<TestWord> read;
  for (const RawWord& word : words) {
    session.line = word.line;
    read.push_back({expander.text(word).text, expander.pattern(word), word.text});
    if (session.failed()) return std::nullopt;
  }
  TestReader reader(std::move(read), expander, session.unknowns, state, true);
  const Answer answer = reader.read();
  if (!reader.matches.empty()) {
    ShellVariable& found = state.variables["BASH_REMATCH"];
    found = {ShellVariable::Kind::kList, std::move(reader.matches), {}, false};
  }
  return answer;
}

}  // namespace ergometer::intake
