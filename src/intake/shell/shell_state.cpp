#include "intake/shell/shell_state.h"

#include <fmt/format.h>
#include <fnmatch.h>

namespace ergometer::intake {

std::string ShellUnknowns::mark(std::string reason, std::vector<std::string> choices) {
  entries_.push_back({std::move(reason), std::move(choices), false, false});
  return fmt::format("\x01{}\x02", entries_.size() - 1);
}

std::string ShellUnknowns::mark_lines(std::string reason) {
  std::string text = mark(std::move(reason));
  entries_.back().many_lines = true;
  return text;
}

std::string ShellUnknowns::mark_words(std::string reason) {
  std::string text = mark(std::move(reason));
  entries_.back().any_words = true;
  return text;
}

std::string ShellUnknowns::first(std::string_view text) {
  const size_t begin = text.find('\x01');
  const size_t end = text.find('\x02', begin);
  return std::string(text.substr(begin, end == text.npos ? end : end - begin + 1));
}

const ShellUnknowns::Entry& ShellUnknowns::entry(std::string_view text) const {
  static const Entry kNone = {"a value that is not known", {}, false, false};
  size_t index = 0;
  for (size_t at = text.find('\x01') + 1; at < text.size() && text[at] != '\x02'; ++at) {
    if (text[at] < '0' || text[at] > '9' || index > entries_.size()) return kNone;
    index = index * 10 + static_cast<size_t>(text[at] - '0');
  }
  return index < entries_.size() ? entries_[index] : kNone;
}

std::string ShellUnknowns::reason(std::string_view text) const {
  const std::string& why = entry(text).reason;
  const bool tells = why.find("give --env") != why.npos || why.find("not here") != why.npos;
  return tells ? why : why + ", which is not known here";
}

void ShellSession::fail(std::string_view what) {
  if (!failed()) failure = fmt::format("{}: {}", where(line), what);
}

std::string meant_variable(const ShellState& state, std::string_view name) {
  std::string meant(name);
  constexpr int kMostReferences = 10;
  for (int i = 0; i < kMostReferences; ++i) {
    const auto it = state.variables.find(meant);
    if (it == state.variables.end() || it->second.refers_to.empty()) break;
    meant = it->second.refers_to;
  }
  return meant;
}

const std::string* written_file(const ShellState& state, const std::string& path) {
  const auto plain = [&](std::string_view name) {
    // $PWD/job.sh is job.sh.
    if (!state.here.empty() && name.starts_with(state.here + "/"))
      name.remove_prefix(state.here.size() + 1);
    while (name.starts_with("./")) name.remove_prefix(2);
    return name;
  };
  if (const auto it = state.files.find(path); it != state.files.end()) return &it->second;
  for (const auto& [name, text] : state.files)
    if (plain(name) == plain(path)) return &text;
  return nullptr;
}

void export_variable(const std::string& name, const std::string& value, ShellState& state) {
  ShellVariable variable;
  variable.items = {{value, 0}};
  variable.exported = true;
  state.variables[name] = std::move(variable);
}

std::string ShellSession::where(int at) const {
  if (at % kLinesOfFile == 0) return name;  // a program that no line is known of
  const auto file = static_cast<size_t>(at / kLinesOfFile);
  return fmt::format("{}:{}", file < files.size() ? files[file] : name, at % kLinesOfFile);
}

std::optional<bool> matches_pattern(std::string_view text, std::string_view pattern,
                                    bool any_case) {
  if (pattern == "*") return true;
  if (ShellUnknowns::in(text) || ShellUnknowns::in(pattern)) {
    if (text == pattern) return true;
    return std::nullopt;
  }
  // fnmatch() takes time that grows with the power of the stars.
  constexpr size_t kMostStars = 8;
  size_t stars = 0;
  for (const char c : pattern) stars += c == '*' || c == '(' ? 1 : 0;
  if (stars > kMostStars || text.size() > 10'000) return std::nullopt;
  const int flags = FNM_EXTMATCH | (any_case ? FNM_CASEFOLD : 0);
  return fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), flags) == 0;
}

}  // namespace ergometer::intake
