#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "intake/shell/shell_state.h"

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

/// cut, sort, uniq and paste -s of lines, a part of shell_utility().
std::optional<UtilityResult> shell_lines_of(const std::vector<ShellText>& words,
                                            const std::string& input,
                                            const ShellUnknowns& unknowns);

/// sed or awk that put the same texts around every line, of host names or other single words:
/// 's/$/ slots=8/', '{print $1" slots=8"}'.
std::optional<UtilityResult> shell_around_lines(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file,
    const ShellUnknowns& unknowns);

/// grep (-v, -q, -E, -i, -c), sed (s/from/to/, /from/p, 3p, -n, -E) and awk ('{print $2, $3}' with
/// -F, -v, /from/, NR== and $1=="text", '{s += $2} END {print s}') of files and input that are
/// known; nothing for anything else.
std::optional<UtilityResult> shell_filter(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file);

/// util-linux's getopt: `getopt -o m:t: --long model:,tp: -- "$@"`, and without -o the older one.
/// Options that are not allowed are left out, with status 1.
std::optional<UtilityResult> shell_getopt(const std::vector<ShellText>& words);

std::optional<UtilityResult> shell_awk(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file);
/// awk 'BEGIN {print 3 * n}' with numbers by -v, `int` and printf "%d" or "%.2f"; nothing for any
/// other program.
std::optional<UtilityResult> awk_number(const std::vector<ShellText>& words);
/// jq and yq of a JSON or YAML text whose filter names values: .a.b, .a // 4, [.a, .b] | @tsv.
/// Nothing for anything else. `text_of_file` gives texts of files, input where none is named.
std::optional<UtilityResult> shell_query(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file);

/// The lines of a text without their ends, and back.
std::vector<std::string> shell_lines(const std::string& text);
std::string join_shell_lines(const std::vector<std::string>& lines);

/// printf's format with its arguments.
std::string shell_printf(const std::vector<ShellText>& words, size_t format_at);

}  // namespace ergometer::intake
