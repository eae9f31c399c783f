#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "intake/script/shell_launch.h"

namespace ergometer::intake {

/// `--name value` of a program.
struct Argument {
  std::string name;     ///< "num_layers", dashes as underscores
  std::string value;    ///< empty for a bare switch
  std::string list;     ///< all values, joined by commas
  std::string where;    ///< "train.sh:12"
  std::string unknown;  ///< what the value depends on, when that is not known
};

/// Whether a program's reader makes something of an argument, and whether it takes a value.
struct ArgumentKnowledge {
  bool (*reads)(std::string_view name);
  bool (*is_switch)(std::string_view name);
};

/// The arguments of a launched program. Words that are not known here but may hold an argument that
/// counts are refused, naming line and reason.
Result<std::vector<Argument>> arguments_of(const std::vector<ShellText>& words, const ShellRun& run,
                                           const ArgumentKnowledge& knows);

}  // namespace ergometer::intake
