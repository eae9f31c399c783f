#pragma once

#include <fmt/core.h>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collection.h"
#include "base/result.h"

namespace ergometer::cli {

/// What cannot be written (a closed or full standard error) is lost and changes nothing: there is
/// nobody left to tell, and the exit status still says how it went.
inline void say(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);
}

/// Where answers and messages go, and how much is said.
struct Console {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool quiet = false;
  /// Another program calls: its signals, and the ranks that it may be one of, are not ours.
  bool hosted = false;

  void answer(std::string_view text) const { std::fwrite(text.data(), 1, text.size(), out); }
  /// One line on standard error, unless --quiet.
  void note(std::string_view text) const;
  template <class... Parts>
    requires(sizeof...(Parts) > 0)
  void note(fmt::format_string<Parts...> form, Parts&&... parts) const {
    note(fmt::format(form, std::forward<Parts>(parts)...));
  }
};

/// One option of a command. Parsing, --help and shell completion are all made from this.
struct Flag {
  enum class Takes { kNothing, kSwitch /* also as --no-NAME */, kValue, kOptionalValue };
  std::string name;        ///< without dashes: "tensor-model-parallel-size"
  std::string short_name;  ///< "tp"; may be empty
  Takes takes = Takes::kNothing;
  std::string value;  ///< what --help calls the value: "N", "FILE", "none|selective|full"
  std::string group;  ///< heading in --help
  std::string help;
  std::vector<std::string> choices;  ///< for completion; empty: anything
  bool checked =
      false;  ///< whether only the choices are allowed; a setting is checked by its reader
  bool repeats = false;  ///< given several times, the values are joined by commas

  Flag shortened(std::string to) &&;
  Flag one_of(std::vector<std::string> words) &&;  ///< nothing else is allowed
  Flag with_optional_value() &&;
  Flag repeated() &&;
};

/// An option as most are: it takes a value, or nothing where `value` is empty.
Flag option(std::string name, std::string value, std::string group, std::string help);

/// What the user wrote after the command, checked against its flags; nothing about the values'
/// meaning is.
struct Arguments {
  std::vector<std::string> words;    ///< positional arguments
  std::vector<std::string> command;  ///< behind "--", of a command that runs another
  std::map<std::string, std::string, std::less<>>
      flags;  ///< by full name; switches "true" or "false", else the value
  std::map<std::string, std::string, std::less<>>
      written;  ///< how the user spelt each flag: "--tp"

  bool has(std::string_view name) const { return flags.find(name) != flags.end(); }
  std::string value(std::string_view name, std::string_view fallback = "") const {
    return base::value_or(flags, name, std::string(fallback));
  }
};

/// A subcommand as data. `run` returns the exit status or the error that main prints.
struct Command {
  std::string_view name;
  std::string_view summary;   ///< one line
  std::string_view usage;     ///< after the program's name
  std::string_view examples;  ///< whole lines
  std::string_view words;     ///< positional arguments for messages: "MODEL"
  size_t min_words = 0, max_words = 0;
  std::vector<Flag> (*flags)() = nullptr;
  Result<int> (*run)(const Arguments&, const Console&) = nullptr;
  bool runs_another = false;  ///< what stands behind "--" is a command and its own options
  bool spreads = false;       ///< over the ranks of a job, of which one speaks
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);
/// Flags of a command and those that every command has.
std::vector<Flag> all_flags(const Command& command);

/// Reads the words behind the command's name. Wrong usage is an input error with a suggestion.
Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& words);

}  // namespace ergometer::cli
