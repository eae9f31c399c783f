#pragma once

#include <string>
#include <vector>

#include "intake/shell/shell_state.h"

namespace ergometer::intake {

/// One state for several branches of which one was taken: what is equal stays; of what differs the
/// common beginning stays, and a mark stands for the rest, with the rests as its choices. `ends` is
/// not empty; `reason` says what decides.
ShellState merge_states(const std::vector<ShellState>& ends, const std::string& reason,
                        ShellUnknowns& unknowns);

/// Bytes of a state, about.
int64_t size_of(const ShellState& state);

}  // namespace ergometer::intake
