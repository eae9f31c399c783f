#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What can be read in Python text without running it.
namespace ergometer::intake {

/// Arguments that are read of one call: whoever writes by hand stays below.
constexpr size_t kMostPythonArguments = 500;

struct PythonArgument {
  std::string name;   ///< empty of a positional one
  std::string value;  ///< as written: "4", "cfg.size", "**common"
  int line = 0;
};

int line_at(const std::string& text, size_t at);
/// What a string says between its quotes: `\"` is a quote, and a line may end in a backslash.
std::string unescaped(std::string_view text);
std::string trimmed(std::string_view text);
bool is_word(char c);
/// "torch.optim.SGD"
bool is_dotted_name(std::string_view text);
/// "run.Config" of `run.Config(Part, c=2)`; empty where the expression is no call alone.
std::string called_name(const std::string& expression);
/// Behind a string literal that begins at `at`; the end of the text if it never closes.
size_t behind_string(const std::string& text, size_t at);
/// Behind the bracket that closes the one at `open`; the end of the text if it never closes.
size_t behind_bracket(const std::string& text, size_t open);
/// The text with comments and long strings made blank, so that offsets stay.
std::string without_comments(std::string text);
/// The arguments of the call whose parenthesis opens at `open`; one beyond the most, where there
/// are more.
std::vector<PythonArgument> arguments_of_call(const std::string& text, size_t open);
/// The argument of a name, or else the positional one at `place` from 0; what a spread brings is
/// not looked for.
std::optional<PythonArgument> argument_of(const std::vector<PythonArgument>& arguments,
                                          std::string_view name, size_t place);
/// The items of `dict(a=1)` or `{"a": 1}` by name; nothing where it is none or a key is no string.
std::optional<std::vector<PythonArgument>> dictionary_items(const std::string& text);
/// A string, number, True, False or None as a YAML value, or a list of them, joined by commas.
std::optional<std::string> literal(const std::string& text);
/// Where the name stands as a word of its own.
std::vector<size_t> words_of(const std::string& text, std::string_view name);
/// Where parentheses open behind the name as a word of its own: the word, its parenthesis.
std::vector<std::pair<size_t, size_t>> calls_of(const std::string& text, std::string_view name);

/// Which statement a place belongs to, and what stands around it.
class PythonStatements {
 public:
  /// `text` is free of comments and outlives this.
  explicit PythonStatements(const std::string& text);

  /// Where the statement begins that has the place.
  size_t start(size_t at) const;
  std::string_view statement(size_t at) const;
  /// Whether the place is between brackets.
  bool nested(size_t at) const { return nested_[at]; }
  /// Line of an `if`, `elif`, `else`, `except` or `case` around the place, or of a conditional
  /// expression that has what is written from `at` to `end`; 0 if there is none. A file's
  /// `if __name__ == "__main__":` is none.
  int branch(size_t at, size_t end) const;
  /// Where the statements begin that hold the place in their blocks, the innermost first.
  std::vector<size_t> around(size_t at) const;
  /// Where the next statement begins; the end of the text behind the last.
  size_t behind(size_t start) const;
  /// The statement before the one that begins there, in the same block; npos if it is the first.
  size_t previous(size_t start) const;
  /// The statements right within the block of the one that begins there.
  std::vector<size_t> children(size_t start) const;
  /// Where the block ends of the statement that begins there.
  size_t end_of_block(size_t start) const;
  /// Line of a conditional expression that has what is written from `at` to `end`; 0: none.
  int conditional(size_t at, size_t end) const;
  /// The name that what begins at `at` is given to: `NAME = Call(...)`; empty if to none.
  std::string assigned(size_t at) const;

 private:
  int enclosing_branch(size_t at) const;
  size_t indent(size_t start) const;

  const std::string& text_;
  std::vector<size_t> starts_;
  std::vector<bool> nested_;
};

}  // namespace ergometer::intake
