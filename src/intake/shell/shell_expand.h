#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "intake/shell/shell_state.h"

namespace ergometer::intake {

/// A variable's value as one text; null when nobody set it. Special ones (`?`, `#`, `@`, digits)
/// included.
class ShellExpander {
 public:
  /// Runs a command for $(...) and returns what it prints.
  using Substitute = std::function<std::string(std::string_view script, int line)>;

  ShellExpander(ShellSession& session, ShellState& state, Substitute substitute)
      : session_(session), state_(state), substitute_(std::move(substitute)) {}

  /// A command's words: braces, parameters, substitutions, then split at blanks where unquoted.
  std::vector<ShellText> fields(const std::vector<RawWord>& words);
  /// One text, not split: an assignment's value, the word of `case`.
  ShellText text(const RawWord& word);
  /// The same with quoted pattern characters hidden behind backslashes.
  std::string pattern(const RawWord& word);
  /// A here-document: quotes are text, parameters are not.
  std::string document(std::string_view body, int line);
  /// $((...)) without the brackets around it; nothing when it failed.
  std::string arithmetic(std::string_view expression);

  std::string separators() const;  ///< IFS: the characters at which fields end
  /// A variable as an expression names it, "NAME" or "NAME[2]"; created when it is not there.
  void assign(std::string_view name, const ShellText& value, bool append = false);

 private:
  class Fields;
  enum class Quoting { kNone, kDouble, kDocument };

  /// What stands where a word was a pattern of files: those beside the script, else a mark.
  void put_files(const ShellText& word, const std::string& pattern, std::vector<ShellText>& all);
  void expand(std::string_view raw, int line, Quoting quoting, Fields& out);
  // What stands at `at`, a part of it each; they return where it ends and count its lines.
  size_t expand_backquotes(std::string_view raw, size_t at, int line, Quoting quoting, Fields& out);
  size_t expand_backslash(std::string_view raw, size_t at, int& line, Quoting quoting, Fields& out);
  size_t expand_quotes(std::string_view raw, size_t at, int& line, Fields& out);
  size_t expand_plain(std::string_view raw, size_t at, int line, Quoting quoting, Fields& out);
  size_t expand_dollar(std::string_view raw, size_t at, int line, Quoting quoting, Fields& out);
  void expand_braces(std::string_view body, int line, Quoting quoting, Fields& out);
  /// The word of ${NAME:-WORD} and ${NAME:+WORD}.
  void expand_alternative(std::string_view word, int line, Quoting quoting, Fields& out);
  void expand_name(std::string_view name, int line, Quoting quoting, Fields& out);
  void put(const std::string& value, int line, Quoting quoting, Fields& out);
  void put_list(const std::vector<ShellText>& items, bool one_text, Quoting quoting, Fields& out);

  /// The items a name stands for; `all`: it was `@` or `*`.
  struct Value {
    bool set = false;
    std::vector<ShellText> items;
    bool list = false, one_text = false;
    int64_t first = 0;  ///< number of the first item
    std::string text() const;
  };
  void put_value(const Value& value, int line, Quoting quoting, Fields& out);

  /// What ${...} names, and what stands behind the name.
  struct BracedName {
    bool counts = false, indirect = false;  ///< ${#NAME}, ${!NAME}
    std::string name, index;
    bool has_index = false;
    std::string_view operation;
  };
  static std::optional<BracedName> braced_name(std::string_view body);
  /// ${!NAME[@]} and references. False: `it` is what NAME's value names, to be expanded.
  bool expand_indirect(BracedName& it, int line, Quoting quoting, Fields& out);
  /// ${NAME-WORD}, =, ? and +, of a set value that is empty too behind a colon. False: the value
  /// stands.
  bool expand_default(const BracedName& it, const Value& value, int line, Quoting quoting,
                      Fields& out);

  Value value_of(std::string_view name, std::string_view index, bool has_index);
  Value special(std::string_view name);
  Value behind_unknown(const std::vector<ShellText>& items) const;
  Value from_outside(std::string_view name);
  std::string first_separator() const;
  /// Which variable of an expression is empty because nobody set something; empty: none.
  std::string why_empty(std::string_view expression) const;
  std::string size_text(const Value& value) const;
  Value changed(Value value, std::string_view operation, int line);
  std::string changed_text(const std::string& text, std::string_view operation, int line);
  /// Of `:BEGIN:COUNT`; without a count, `all`.
  struct Slice {
    Result<int64_t> begin, count;
  };
  Slice slice_of(std::string_view operation, int64_t all);
  // Of a text: ${NAME:2:3}, ${NAME%.sh} and ${NAME/a/b}; nothing where that is not known.
  std::optional<std::string> part_of(const std::string& text, std::string_view operation);
  std::optional<std::string> without_match(const std::string& text, std::string_view operation,
                                           int line);
  std::optional<std::string> with_replaced(const std::string& text, std::string_view operation,
                                           int line);
  std::string word_text(std::string_view raw, int line);
  std::string word_pattern(std::string_view raw, int line);

  ShellSession& session_;
  ShellState& state_;
  Substitute substitute_;
  int depth_ = 0;
};

/// `a{1..3}` and `a{x,y}` as the words they stand for; others alone.
std::vector<std::string> expand_shell_braces(const std::string& raw);

}  // namespace ergometer::intake
