#include "intake/shell_words.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace ergometer::intake {
namespace {

using Words = std::vector<ShellWord>;

constexpr size_t kLongestWord = 100'000;
constexpr size_t kMostWords = 100'000;
/// Characters that all expansions together may add: variables set from each other grow without
/// bound.
constexpr size_t kMostExpanded = 4'000'000;

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  Words read() {
    while (at_ < text_.size() && commands_.size() + assigned_.size() < kMostWords) statement();
    const auto is_flag = [](const ShellWord& word) { return word.text.starts_with("--"); };
    return std::any_of(commands_.begin(), commands_.end(), is_flag) ? commands_ : assigned_;
  }

 private:
  bool skip_blanks() {
    while (at_ < text_.size()) {
      if (is_blank(text_[at_]))
        ++at_;
      else if (text_.substr(at_, 2) == "\\\n")
        next_line(2);
      else if (text_.substr(at_, 3) == "\\\r\n")
        next_line(3);
      else if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        break;
    }
    return at_ < text_.size();
  }
  void next_line(size_t length) {
    at_ += length;
    ++line_;
  }

  /// Up to the end of a line or a `;`: assignments, then a command's words.
  void statement() {
    while (skip_blanks()) {
      const char c = text_[at_];
      if (c == '\n') return next_line(1);
      if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
        ++at_;
        if (c == ';') return;
        continue;
      }
      const size_t before = at_;
      if (!assignment()) word(commands_);
      if (at_ == before) ++at_;
    }
  }

  /// `NAME=value`, `NAME+=value` or `NAME=( words )`, an `export` in front ignored.
  bool assignment() {
    size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    const bool append = text_.substr(end, 2) == "+=";
    if (end == at_ || end >= text_.size() || (!append && text_[end] != '=')) return false;
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return false;
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + (append ? 2 : 1);
    Words values;
    if (at_ < text_.size() && text_[at_] == '(')
      array(values);
    else if (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != '\n' && text_[at_] != ';')
      word(values);
    for (const ShellWord& value : values) split_into(value.text, value.line, assigned_);
    Words& variable = variables_[name];
    if (!append) variable.clear();
    if (variable.size() < kMostWords) variable.insert(variable.end(), values.begin(), values.end());
    return true;
  }

  void array(Words& values) {
    for (++at_; skip_blanks() && text_[at_] != ')';) {
      const size_t before = at_;
      if (text_[at_] == '\n')
        next_line(1);
      else
        word(values);
      if (at_ == before) ++at_;  // a character that means nothing in an array
    }
    if (at_ < text_.size()) ++at_;
  }

  /// One word; an unquoted variable in it splits it where its value has blanks, as a shell does.
  void word(Words& target) {
    std::string text;
    const int line = line_;
    bool quoted = false;
    for (; at_ < text_.size() && text.size() < kLongestWord; ++at_) {
      const char c = text_[at_];
      if (is_blank(c) || c == '\n' || c == ';' || c == ')' || c == '(' || c == '&' || c == '|')
        break;
      if (c == '\'' || c == '"') {
        quoted = true;
        quotation(c, text, target);
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] == '\n') break;
        text += text_[++at_];
      } else if (c == '$') {
        const size_t before = text.size();
        variable(text);
        if (text.find_first_of(" \t\n", before) != text.npos) {
          split_into(text, line, target);
          text.clear();
        }
      } else {
        text += c;
      }
    }
    if (!text.empty() || (quoted && last_was_plain_)) target.push_back({text, line});
    last_was_plain_ = true;
    if (text.size() >= kLongestWord) at_ = text_.size();
    if (at_ < text_.size() && (text_[at_] == '(' || text_[at_] == '&' || text_[at_] == '|')) ++at_;
  }

  void quotation(char quote, std::string& text, Words& target) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text.size() < kLongestWord; ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (text_[at_] == '\n')
          ++line_;
        else
          text += text_[at_];
      } else if (quote == '"' && text_[at_] == '$') {
        variable(text);
        // "${ARGS[@]}" stays a list of words.
        if (was_array_) {
          split_into(text, line_, target);
          text.clear();
          last_was_plain_ = false;
        }
      } else {
        text += text_[at_];
      }
    }
  }

  /// Appends a variable's value; `at_` is left on the expansion's last character.
  void variable(std::string& text) {
    was_array_ = false;
    const size_t start = at_;
    const bool braces = text_.substr(at_, 2) == "${";
    size_t begin = at_ + (braces ? 2 : 1), end = begin;
    while (end < text_.size() && is_name(text_[end])) ++end;
    std::string_view name = text_.substr(begin, end - begin);
    std::string_view rest;
    if (braces) {
      const size_t close = text_.find('}', end);
      if (close == text_.npos)
        end = text_.size();
      else {
        rest = text_.substr(end, close - end);
        end = close + 1;
      }
    }
    const auto it = variables_.find(name);
    was_array_ = it != variables_.end() && rest.starts_with("[@]");
    if (it != variables_.end())
      append_words(it->second, text);
    else if (rest.starts_with(":-"))
      text += rest.substr(2);
    else if (rest.starts_with("-"))
      text += rest.substr(1);
    else
      text += text_.substr(start, std::max<size_t>(end, start + 1) - start);
    at_ = std::max<size_t>(end, start + 1) - 1;
  }

  void append_words(const Words& words, std::string& text) {
    const size_t before = text.size();
    for (size_t i = 0; i < words.size() && text.size() < kLongestWord && expanded_ < kMostExpanded;
         ++i)
      text += (i == 0 ? "" : " ") + words[i].text;
    expanded_ += text.size() - before;
  }

  static void split_into(const std::string& text, int line, Words& target) {
    size_t at = 0;
    while (at < text.size() && target.size() < kMostWords) {
      at = text.find_first_not_of(" \t\r\n", at);
      if (at == text.npos) return;
      const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
      target.push_back({text.substr(at, end - at), line});
      at = end;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  size_t expanded_ = 0;
  bool was_array_ = false;
  bool last_was_plain_ = true;
  std::map<std::string, Words, std::less<>> variables_;
  Words commands_;
  Words assigned_;
};

}  // namespace

std::vector<ShellWord> shell_words(std::string_view script) { return ShellReader(script).read(); }

}  // namespace ergometer::intake
