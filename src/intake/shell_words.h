#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ergometer::intake {

struct ShellWord {
  std::string text;
  int line = 0;
};

/// The words of a launch script's commands, after quotes, comments, `\` continuations, arrays and
/// the variables that the script itself sets: `$NAME`, `${NAME}`, `${NAME[@]}`, `${NAME:-default}`.
/// Control flow is not followed, other expansions (`$1`, `$(...)`) stay as they are. When no
/// command carries a flag, the words of all assignments are returned instead: a file that only
/// fills MODEL_ARGS=( ... ).
std::vector<ShellWord> shell_words(std::string_view script);

}  // namespace ergometer::intake
