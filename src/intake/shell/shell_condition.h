#pragma once

#include <optional>
#include <vector>

#include "intake/shell/shell_expand.h"

namespace ergometer::intake {

/// Whether a `[ ... ]` holds; its words without the brackets. Nothing when it depends on what is
/// not known: a mark, or a file that is not here (it may be on the cluster).
std::optional<bool> shell_test(const std::vector<ShellText>& words, ShellExpander& expander,
                               const ShellUnknowns& unknowns, const ShellState& state);
/// The same for `[[ ... ]]`; what =~ found goes to BASH_REMATCH.
std::optional<bool> shell_condition(const std::vector<RawWord>& words, ShellExpander& expander,
                                    ShellSession& session, ShellState& state);

}  // namespace ergometer::intake
