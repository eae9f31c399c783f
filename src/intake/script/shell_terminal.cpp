#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"
#include "intake/programs/launcher_options.h"
#include "intake/script/inner_shell.h"

// Terminals: programs that run a text in another one, or have it typed there.

namespace ergometer::intake {
namespace {

using TerminalWords = std::vector<ShellText>;

/// tmux joins nothing: one word is a shell's text, several are a program's.
std::optional<InnerShell> shell_of_window(const TerminalWords& words, size_t at, size_t end) {
  constexpr std::string_view kWithValue = " -c -e -f -F -l -n -p -s -t -x -y ";
  constexpr std::string_view kAlone = " -A -d -D -E -P -X -a -b -k -S -f -h -v -I -Z ";
  // Letters in one word: -ds NAME.
  for (; at < end && words[at].text.starts_with('-'); ++at) {
    const std::string& word = words[at].text;
    for (size_t i = 1; i < word.size(); ++i) {
      const std::string name = {' ', '-', word[i], ' '};
      if (base::contains(kWithValue, name)) {
        at += i + 1 == word.size() ? 1 : 0;
        break;
      }
      if (!base::contains(kAlone, name)) return std::nullopt;
    }
  }
  // A shell that waits for keys.
  if (at >= end) return InnerShell{true, "", 0, words.size(), "tmux", "of tmux"};
  InnerShell inner = shell_of(words, at, end);
  // The server keeps the environment of whoever started it.
  inner.elsewhere = "tmux";
  return inner;
}

bool ends_line(std::string_view key) {
  constexpr std::array kKeys =
      std::to_array<std::string_view>({"Enter", "enter", "ENTER", "C-m", "C-M", "C-j", "KPEnter"});
  return base::contains(kKeys, key);
}

/// `send-keys -t x TEXT Enter`: names of keys are keys, other words are typed as they are.
std::optional<InnerShell> shell_of_keys(const TerminalWords& words, size_t at, size_t end) {
  InnerShell inner{true, "", 0, words.size(), "tmux", "of tmux"};
  bool literal = false;
  for (; at < end && words[at].text.starts_with('-'); ++at) {
    if (words[at].text == "-t" && at + 1 < end)
      inner.terminal = words[++at].text;
    else if (words[at].text == "-l")
      literal = true;
    else
      return std::nullopt;
  }
  for (; at < end; ++at) {
    const std::string& key = words[at].text;
    if (!literal && ends_line(key))
      inner.text += '\n';
    else if (!literal && (key == "Space" || key == "SPACE"))
      inner.text += ' ';
    else if (literal || !(key.starts_with("C-") && key.size() == 3))
      inner.text += key;
  }
  return inner;
}

/// `tmux new -d -s x TEXT`
std::optional<InnerShell> tmux_shell(const TerminalWords& words) {
  constexpr std::array kWindows = std::to_array<std::string_view>(
      {"new-session", "new", "new-window", "neww", "split-window", "splitw"});
  const auto at = behind_options(words, 1, " -L -S -f -c -T ", " -2 -C -l -N -u -v ");
  if (!at || *at >= words.size()) return std::nullopt;
  const std::string& command = words[*at].text;
  if (base::contains(kWindows, command)) return shell_of_window(words, *at + 1, words.size());
  if (command == "send-keys" || command == "send")
    return shell_of_keys(words, *at + 1, words.size());
  return std::nullopt;
}

/// `\n`, `\r`, `\015` and `^M` end a line; other escapes are not followed.
std::optional<std::string> typed_by_screen(const std::string& text) {
  std::string typed;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto is = [&](std::string_view escape) {
      return text.compare(at, escape.size(), escape) == 0;
    };
    size_t length = 0;
    for (const std::string_view escape : {"\\n", "\\r", "\\015", "\\012", "^M", "^J", "\r", "\n"})
      if (length == 0 && is(escape)) length = escape.size();
    if (length == 0 && (text[at] == '\\' || text[at] == '^')) return std::nullopt;
    typed += length > 0 ? '\n' : text[at];
    at += length > 0 ? length - 1 : 0;
  }
  return typed;
}

/// `screen -S x -X stuff TEXT`; what it starts itself (`screen -dm bash -c TEXT`) has words of its
/// own.
std::optional<InnerShell> screen_shell(const TerminalWords& words) {
  std::string terminal = "of screen";
  for (size_t at = 1; at + 2 < words.size(); ++at) {
    if (words[at].text == "-S" || words[at].text == "-r" || words[at].text == "-p")
      terminal += " " + words[at + 1].text;
    if (words[at].text != "-X" || words[at + 1].text != "stuff") continue;
    const auto typed = typed_by_screen(words[at + 2].text);
    if (!typed) return std::nullopt;
    return InnerShell{true, *typed, 0, words.size(), "screen", terminal};
  }
  return std::nullopt;
}

/// `su - user -c TEXT`, `script -q -c TEXT log`.
std::optional<InnerShell> shell_of_option(const TerminalWords& words, bool may_log_in) {
  bool logs_in = false;
  for (size_t at = 1; at + 1 < words.size(); ++at) {
    const std::string& word = words[at].text;
    logs_in = logs_in || word == "-" || word == "-l" || word == "--login";
    const bool letters = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    if (!letters && word != "--command") continue;
    InnerShell inner = shell_of(words, at + 1, at + 2);
    if (logs_in && may_log_in) inner.elsewhere = "su";
    return inner;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::vector<ShellText>> commands_of_tmux(const std::vector<ShellText>& words) {
  const auto begin = file_name(words.front().text) == "tmux"
                         ? behind_options(words, 1, " -L -S -f -c -T ", " -2 -C -l -N -u -v ")
                         : std::nullopt;
  if (!begin) return {};
  const TerminalWords front(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(*begin));
  std::vector<TerminalWords> commands = {front};
  for (size_t at = *begin; at < words.size(); ++at) {
    // For tmux a semicolon that ends a word ends the command.
    const std::string& word = words[at].text;
    const bool ends = word.ends_with(';');
    if (word != ";")
      commands.back().push_back({ends ? word.substr(0, word.size() - 1) : word, words[at].line});
    if (ends && (word == ";" || at + 1 < words.size())) commands.push_back(front);
  }
  return commands.size() > 1 ? commands : std::vector<TerminalWords>();
}

std::optional<InnerShell> terminal_shell(const std::vector<ShellText>& words) {
  const std::string_view first = file_name(words.front().text);
  if (first == "tmux") return tmux_shell(words);
  if (first == "screen") return screen_shell(words);
  if (first == "su" || first == "runuser") return shell_of_option(words, true);
  if (first == "script") return shell_of_option(words, false);
  return std::nullopt;
}

}  // namespace ergometer::intake
