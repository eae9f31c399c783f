#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "base/text.h"
#include "intake/programs/shell_pattern.h"
#include "intake/programs/shell_utilities.h"

// grep and sed of known text.

namespace ergometer::intake {
namespace {

using UtilityWords = std::vector<ShellText>;
using Filtered = std::optional<UtilityResult>;

/// What grep -o prints of lines: every match that is not empty.
std::vector<std::string> matches_in(const regex_t& pattern, const std::vector<std::string>& lines) {
  std::vector<std::string> all;
  for (const std::string& line : lines) {
    regmatch_t match{};
    for (size_t at = 0; at < line.size() && regexec(&pattern, line.c_str() + at, 1, &match,
                                                    at == 0 ? 0 : REG_NOTBOL) == 0;) {
      const auto begin = static_cast<size_t>(match.rm_so), end = static_cast<size_t>(match.rm_eo);
      if (end > begin) all.push_back(line.substr(at + begin, end - begin));
      at += end > begin ? end : end + 1;
    }
  }
  return all;
}

Filtered grep(const UtilityWords& words, const std::string& input,
              const std::function<std::string(const std::string&)>& text_of_file) {
  bool inverts = false, quiet = false, extended = false, counts = false, any_case = false,
       only = false;
  std::vector<std::string> plain;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word.size() < 2 || word[0] != '-') {
      plain.push_back(word);
      continue;
    }
    for (const char c : word.substr(1)) {
      if (std::string_view("vqEicseoh").find(c) == std::string_view::npos) return std::nullopt;
      inverts = inverts || c == 'v';
      quiet = quiet || c == 'q';
      extended = extended || c == 'E';
      counts = counts || c == 'c';
      any_case = any_case || c == 'i';
      only = only || c == 'o';
    }
  }
  if (plain.empty() || !is_plain_pattern(plain.front())) return std::nullopt;
  std::string text = plain.size() == 1 ? input : "";
  for (size_t i = 1; i < plain.size(); ++i) text += text_of_file(plain[i]);
  if (plain.size() > 2 || ShellUnknowns::in(text) || ShellUnknowns::in(plain.front()))
    return std::nullopt;
  regex_t pattern;
  if (regcomp(
          &pattern, plain.front().c_str(),
          (only ? 0 : REG_NOSUB) | (extended ? REG_EXTENDED : 0) | (any_case ? REG_ICASE : 0)) != 0)
    return std::nullopt;
  std::vector<std::string> found;
  bool too_long = false;
  for (const std::string& line : shell_lines(text)) {
    too_long = too_long || line.size() > kLongestFiltered;
    if (!too_long && (regexec(&pattern, line.c_str(), 0, nullptr, 0) == 0) != inverts)
      found.push_back(line);
  }
  if (only && !too_long && !counts && !inverts) found = matches_in(pattern, found);
  regfree(&pattern);
  if (too_long || (only && (counts || inverts))) return std::nullopt;
  return UtilityResult{quiet    ? ""
                       : counts ? fmt::format("{}\n", found.size())
                                : join_shell_lines(found),
                       found.empty() ? 1 : 0};
}

/// A command of sed: s/from/to/, or what is printed or deleted.
struct SedCommand {
  std::unique_ptr<Pattern> pattern;  ///< of s, or of the lines that are meant
  int64_t line = 0;                  ///< the one line that is meant; 0: as `pattern` says
  char kind = 's';                   ///< s, p or d
  std::string to;
  bool everywhere = false, prints = false;
};

/// The parts of s/from/to/flags, or of /from/p.
std::vector<std::string> parts_between(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != separator) parts.back() += '\\';
      parts.back() += text[++i];
    } else if (text[i] == separator) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::optional<SedCommand> sed_command(const std::string& text, bool extended) {
  if (text.size() < 2) return std::nullopt;
  SedCommand command;
  const bool replaces = text[0] == 's';
  if (!replaces && text[0] != '/') {
    const auto line = base::parse_integer(text.substr(0, text.size() - 1));
    command.kind = text.back();
    if (!line || *line < 1 || (command.kind != 'p' && command.kind != 'd')) return std::nullopt;
    command.line = *line;
    return command;
  }
  const std::vector<std::string> parts =
      parts_between(text.substr(replaces ? 2 : 1), replaces ? text[1] : '/');
  if (parts.size() != (replaces ? 3U : 2U) || parts[0].empty()) return std::nullopt;
  command.pattern = std::make_unique<Pattern>(parts[0], extended);
  if (!command.pattern->good()) return std::nullopt;
  if (!replaces) {
    if (parts[1] != "p" && parts[1] != "d") return std::nullopt;
    command.kind = parts[1][0];
    return command;
  }
  command.to = parts[1];
  for (const char flag : parts[2]) {
    if (flag != 'g' && flag != 'p') return std::nullopt;
    command.everywhere = command.everywhere || flag == 'g';
    command.prints = command.prints || flag == 'p';
  }
  return command;
}

/// The text in place of a match: & is the match, \1 a group of it.
std::string replacement(const std::string& to, const char* line,
                        const std::array<regmatch_t, 10>& found) {
  std::string made;
  for (size_t i = 0; i < to.size(); ++i) {
    size_t group = found.size();
    if (to[i] == '&')
      group = 0;
    else if (to[i] == '\\' && i + 1 < to.size() && to[++i] >= '0' && to[i] <= '9')
      group = static_cast<size_t>(to[i] - '0');
    if (group == found.size()) {
      made += to[i] == 'n' && to[i - 1] == '\\' ? '\n' : to[i];
    } else if (const regmatch_t& match = found.at(group); match.rm_so >= 0) {
      made.append(line + match.rm_so, static_cast<size_t>(match.rm_eo - match.rm_so));
    }
  }
  return made;
}

/// Whether something was replaced.
bool substitute_in(std::string& line, const SedCommand& command) {
  std::string made;
  std::array<regmatch_t, 10> found{};
  size_t at = 0;
  bool changed = false;
  // A line that grows beyond what is followed is left as it is by then.
  while (at <= line.size() && made.size() <= kLongestFiltered &&
         command.pattern->find(line.c_str() + at, at == 0, found)) {
    changed = true;
    made.append(line, at, static_cast<size_t>(found[0].rm_so));
    made += replacement(command.to, line.c_str() + at, found);
    const bool empty = found[0].rm_eo == found[0].rm_so;
    at += static_cast<size_t>(found[0].rm_eo);
    if (empty && at < line.size()) made += line[at];
    at += empty ? 1 : 0;
    if (!command.everywhere) break;
  }
  if (!changed) return false;
  if (at < line.size()) made.append(line, at);
  line = std::move(made);
  return true;
}

/// One s/from/to/g whose `from` is no pattern: the only one that marks in a text do not disturb.
struct Substitution {
  std::string from, to;
  bool everywhere = false;
};
std::optional<Substitution> substitution_of(const std::string& text) {
  if (text.size() < 4 || text[0] != 's') return std::nullopt;
  const std::vector<std::string> parts = base::split(text.substr(2), text[1]);
  if (parts.size() != 3 || parts[0].empty() || (!parts[2].empty() && parts[2] != "g"))
    return std::nullopt;
  // In a basic expression the others are plain, and these two within it.
  if (parts[0].find_first_of("\\.*[]") != std::string::npos || parts[0].front() == '^' ||
      parts[0].back() == '$' || parts[1].find_first_of("\\&") != std::string::npos)
    return std::nullopt;
  return Substitution{parts[0], parts[1], parts[2] == "g"};
}

struct SedWords {
  std::vector<std::string> scripts, files;
  bool quiet = false, extended = false;
};
std::optional<SedWords> sed_words(const UtilityWords& words) {
  SedWords read;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (word == "-e" && i + 1 < words.size()) {
      read.scripts.push_back(words[++i].text);
    } else if (word.size() > 1 && word[0] == '-') {
      if (word.find_first_not_of("nEr", 1) != word.npos) return std::nullopt;
      read.quiet = read.quiet || base::contains(word, "n");
      read.extended = read.extended || word.find_first_of("Er") != word.npos;
    } else if (read.scripts.empty()) {
      read.scripts.push_back(word);
    } else {
      read.files.push_back(word);
    }
  }
  return read.scripts.empty() ? std::nullopt : std::optional(std::move(read));
}

Filtered sed_by_patterns(const SedWords& read, const std::string& text) {
  std::vector<SedCommand> commands;
  std::vector<std::string> scripts;
  for (const std::string& script : read.scripts) {
    // Of "s/a/b/; s/c/d/" each; one that holds a ";" itself is no command in pieces.
    for (const std::string& part : base::split(script, ';')) {
      const size_t begin = part.find_first_not_of(" \t\n");
      if (begin == part.npos) continue;
      scripts.push_back(part.substr(begin, part.find_last_not_of(" \t\n") + 1 - begin));
    }
  }
  for (const std::string& script : scripts) {
    auto command = sed_command(script, read.extended);
    if (!command || ShellUnknowns::in(script)) return std::nullopt;
    commands.push_back(std::move(*command));
  }
  std::vector<std::string> made;
  int64_t number = 0;
  for (std::string& line : shell_lines(text)) {
    ++number;
    if (line.size() > kLongestFiltered) return std::nullopt;
    bool deleted = false;
    for (const SedCommand& command : commands) {
      if (deleted) break;
      const bool meant = command.kind == 's' ? substitute_in(line, command)
                         : command.line > 0  ? number == command.line
                                             : command.pattern->matches(line);
      if (line.size() > kLongestFiltered) return std::nullopt;
      deleted = meant && command.kind == 'd';
      if (meant && (command.prints || command.kind == 'p')) made.push_back(line);
    }
    if (!read.quiet && !deleted) made.push_back(line);
  }
  return UtilityResult{join_shell_lines(made), 0};
}

Filtered sed(const UtilityWords& words, const std::string& input,
             const std::function<std::string(const std::string&)>& text_of_file) {
  const auto read = sed_words(words);
  if (!read) return std::nullopt;
  std::string text = read->files.empty() ? input : "";
  for (const std::string& file : read->files) text += text_of_file(file);
  if (text.starts_with('\x01')) return std::nullopt;
  std::vector<Substitution> plain;
  for (const std::string& script : read->scripts)
    if (const auto one = substitution_of(script); one && !read->quiet && !read->extended)
      plain.push_back(*one);
  if (plain.size() != read->scripts.size())
    return ShellUnknowns::in(text) ? std::nullopt : sed_by_patterns(*read, text);
  std::vector<std::string> lines = shell_lines(text);
  constexpr size_t kLongestLine = 100'000;
  for (std::string& line : lines)
    for (const Substitution& one : plain)
      for (size_t at = line.find(one.from); at != line.npos;
           at = one.everywhere ? line.find(one.from, at + one.to.size()) : line.npos) {
        line.replace(at, one.from.size(), one.to);
        if (line.size() > kLongestLine) return std::nullopt;
      }
  return UtilityResult{join_shell_lines(lines), 0};
}

}  // namespace

std::optional<UtilityResult> shell_filter(
    const std::vector<ShellText>& words, const std::string& input,
    const std::function<std::string(const std::string& path)>& text_of_file) {
  const std::string& name = words.front().text;
  return name == "grep"                 ? grep(words, input, text_of_file)
         : name == "sed"                ? sed(words, input, text_of_file)
         : name == "jq" || name == "yq" ? shell_query(words, input, text_of_file)
                                        : shell_awk(words, input, text_of_file);
}

}  // namespace ergometer::intake
