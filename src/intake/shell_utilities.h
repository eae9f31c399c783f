#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intake/shell_state.h"

namespace ergometer::intake {

struct UtilityResult {
  std::string output;
  int status = 0;
};

/// What a program prints that only turns words and its input into text: echo, printf, expr, bc,
/// seq, basename, dirname, realpath, head, tail, tr, cut, wc, cat of its input. Nothing for any
/// other program, or when the result is not plain (an option that is not understood, a mark in what
/// has to be counted or cut).
std::optional<UtilityResult> shell_utility(const std::vector<ShellText>& words,
                                           const std::string& input, ShellSession& session);

/// printf's format with its arguments.
std::string shell_printf(const std::vector<ShellText>& words, size_t format_at);

}  // namespace ergometer::intake
