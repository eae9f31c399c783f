#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::intake {

/// A word as it stands in the script, quotes and expansions included.
struct RawWord {
  std::string text;
  int line = 0;
};

/// `NAME=value`, `NAME+=value`, `NAME[index]=value`, `NAME=(words)`.
struct ShellAssignment {
  std::string name;
  std::string index;  ///< raw text between the brackets
  bool has_index = false, append = false, is_array = false;
  RawWord value;
  std::vector<RawWord> items;
  int line = 0;
};

struct ShellRedirection {
  std::string operation;  ///< ">", ">>", "<", "<<", "<<<", ">&", "<&", "&>"
  int descriptor = -1;    ///< the digits in front; -1: the operation's own
  RawWord target;         ///< of "<<": the whole text that follows
  bool quoted = false;    ///< "<<": nothing in the text is expanded
};

/// One command of any kind; which members count follows from `kind`.
struct ShellNode {
  enum class Kind {
    kSimple,      ///< assignments, words
    kPipeline,    ///< parts; negated
    kAnd,         ///< parts[0] && parts[1]
    kOr,          ///< parts[0] || parts[1]
    kList,        ///< parts, one after the other
    kSubshell,    ///< parts, as a list
    kBackground,  ///< parts[0] &
    kIf,          ///< parts: condition, body, condition, body, ..., perhaps an else
    kWhile,       ///< parts: condition, body; negated: until
    kFor,         ///< name, words, parts[0]; without `in`: the positional arguments
    kForCount,    ///< words: start, condition, step; parts[0]
    kCase,        ///< words[0]; patterns[i] belongs to parts[i]
    kFunction,    ///< name, parts[0]
    kArithmetic,  ///< words[0]
    kCondition    ///< words of [[ ]]
  };
  Kind kind = Kind::kSimple;
  int line = 0;
  bool negated = false;
  bool has_in = false;  ///< kFor: a list of words is given
  std::string name;
  std::vector<ShellAssignment> assignments;
  std::vector<RawWord> words;
  std::vector<std::vector<RawWord>> patterns;
  std::vector<ShellRedirection> redirections;
  std::vector<std::shared_ptr<const ShellNode>> parts;
};
using ShellTree = std::shared_ptr<const ShellNode>;

/// Lines are counted through all files that a script reads: line 12 of the second one is
/// 1 * kLinesOfFile + 12.
inline constexpr int kLinesOfFile = 1'000'000;

/// A script in the grammar of bash as a tree (a list). `first_line` is the number of its first
/// line, `file` what messages call it; text inside one line of a script (eval) has `counts` false
/// and keeps that line's number. Refused, naming the line: a quote, parenthesis or here-document
/// that does not end, a keyword out of place, nesting deeper than 100.
Result<ShellTree> parse_shell(std::string_view script, const std::string& file, int first_line = 1,
                              bool counts = true);

/// Letters, digits and `_`.
inline bool is_shell_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A text as one word of a script: in quotes where it needs them.
std::string quoted_word(std::string_view text);

/// The end of what begins at `at` with `$`, a quote, a backtick or a backslash: the first character
/// behind it; npos when it does not end. Other characters are one long.
size_t skip_shell_piece(std::string_view text, size_t at);
/// The first character behind the bracket that closes the one at `at`; npos when none does. Quotes
/// and comments hide brackets.
size_t skip_brackets(std::string_view text, size_t at, char open, char close);

}  // namespace ergometer::intake
