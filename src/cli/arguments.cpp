#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "base/collection.h"
#include "base/nearest.h"
#include "cli/console/command.h"
#include "intake/reader/framework_options.h"
#include "spec/settings/settings.h"

// The only file that knows CLI11, which takes the words apart here and nothing more: its exceptions
// and exit codes stay in this file, and only the options of the one command that was named are set
// up.

namespace ergometer::cli {

Flag option(std::string name, std::string value, std::string group, std::string help) {
  Flag flag;
  flag.takes = value.empty() ? Flag::Takes::kNothing : Flag::Takes::kValue;
  flag.name = std::move(name);
  flag.value = std::move(value);
  flag.group = std::move(group);
  flag.help = std::move(help);
  return flag;
}

Flag Flag::shortened(std::string to) && {
  short_name = std::move(to);
  return std::move(*this);
}

Flag Flag::one_of(std::vector<std::string> words) && {
  choices = std::move(words);
  checked = true;
  return std::move(*this);
}

Flag Flag::with_optional_value() && {
  takes = Takes::kOptionalValue;
  return std::move(*this);
}

Flag Flag::repeated() && {
  repeats = true;
  return std::move(*this);
}

namespace {

bool is_flag(const std::string& word) { return word.size() > 1 && word[0] == '-' && word != "--"; }

/// Megatron-LM's scripts use dashes, its YAML files underscores; both are understood.
std::string with_dashes(std::string word) {
  if (!is_flag(word)) return word;
  const size_t end = std::min(word.find('='), word.size());
  // Several words are an option's value (--script-adds "--tokenizer-model my_model").
  if (word.find_first_of(" \t\n") < end) return word;
  std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return word;
}

std::vector<std::string> spellings(const Flag& flag) {
  std::vector<std::string> all = {"--" + flag.name};
  if (!flag.short_name.empty())
    all.push_back((flag.short_name.size() == 1 ? "-" : "--") + flag.short_name);
  if (flag.takes == Flag::Takes::kSwitch) {
    all.push_back("--no-" + flag.name);
    if (!flag.short_name.empty()) all.push_back("--no-" + flag.short_name);
  }
  return all;
}

CLI::Option* add_option(CLI::App& app, const Flag& flag) {
  std::string names;
  for (const std::string& spelling : spellings(flag)) {
    // CLI11 marks the spelling that switches off with an exclamation mark.
    const bool off = flag.takes == Flag::Takes::kSwitch && spelling.starts_with("--no-");
    names += (names.empty() ? "" : ",") + std::string(off ? "!" : "") + spelling;
  }
  if (flag.takes == Flag::Takes::kNothing || flag.takes == Flag::Takes::kSwitch)
    return app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  using Policy = CLI::MultiOptionPolicy;
  CLI::Option* option =
      app.add_option(names)->multi_option_policy(flag.repeats ? Policy::TakeAll : Policy::TakeLast);
  if (flag.takes == Flag::Takes::kOptionalValue) option->expected(0, 1);
  return option;
}

/// Where a setting of a job stands for a command that takes its jobs from files.
std::string_view home_of_settings(std::string_view command) {
  if (command == "sweep") return "write it under base: in the study's file";
  if (command == "loop") return "write it in the program's file";
  if (command == "report")
    return "give it to ergometer simulate, whose Run (--run FILE) report shows";
  return "";
}

/// Why a command lacks an option that users expect, as the rest of a sentence; empty where nothing
/// is known.
std::string why_not(const Command& command, const std::string& word) {
  const spec::SettingInfo* setting = spec::find_setting(word);
  if (command.name == "search" && setting != nullptr)
    return fmt::format("; search takes it as --fix {}=VALUE",
                       setting->short_name.empty() ? setting->name : setting->short_name);
  const std::string_view home = home_of_settings(command.name);
  if (!home.empty() && setting != nullptr)
    return fmt::format(": it is a setting of a job; {}", home);
  if (spec::setting_also_called(word) != nullptr || !word.starts_with("--") ||
      !intake::is_listed_option("megatron-lm", word))
    return "";
  const intake::Leftover option = intake::classify("megatron-lm", word, "");
  if (option.kind == intake::Leftover::Kind::kNoEffect)
    return ": it changes neither time nor memory nor power; leave it out";
  return fmt::format(": it is not modelled ({})", option.says);
}

Result<Arguments> unknown_flag(const Command& command, const std::vector<Flag>& flags,
                               std::string word) {
  word = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const Flag& flag : flags) {
    for (std::string& spelling : spellings(flag)) known.push_back(std::move(spelling));
  }
  std::string message = fmt::format("{}: unknown option {}", command.name, word);
  if (const std::string why = why_not(command, word); !why.empty())
    return input_error(message + why);
  // A single dash before a word ("-tp") is a slip of its own.
  const std::string double_dash = word.starts_with("--") ? word : "-" + word;
  auto guess = base::nearest(double_dash, known);
  if (const spec::SettingInfo* meant = spec::setting_also_called(word)) {
    const std::string flag = with_dashes(fmt::format("--{}", meant->name));
    const auto offered = std::ranges::find(known, flag);
    if (offered != known.end()) guess = *offered;
  }
  message += base::did_you_mean(guess);
  if (guess == "--gpus") message += " It counts those of all nodes";
  return input_error(message +
                     fmt::format(" (all options: ergometer {} --help all)", command.name));
}

Result<void> check_choice(const Flag& flag, const std::string& value) {
  if (!flag.checked || (value.empty() && flag.takes == Flag::Takes::kOptionalValue)) return {};
  if (base::contains(flag.choices, value)) return {};
  return input_error("--{}: '{}' is not allowed; it is one of {}{}", flag.name, value,
                     fmt::join(flag.choices, ", "), base::did_you_mean(value, flag.choices));
}

/// `--tp --pp 4`: the value is missing, and what follows was taken for it; `--tp=--pp` says it.
Result<void> check_value(const Command& command, const std::vector<Flag>& flags,
                         const std::string& written, const std::string& value,
                         const std::vector<std::string>& words) {
  const bool joined = base::contains(words, written + '=' + value);
  // What has several words is a text.
  if (joined || !value.starts_with("--") || value.find(' ') != value.npos) return {};
  for (const Flag& flag : flags) {
    for (const std::string& spelling : spellings(flag)) {
      if (with_dashes(value).substr(0, value.find('=')) == spelling)
        return input_error("{}: {} needs a value ({}={} gives it that one)", command.name, written,
                           written, value);
    }
  }
  return {};
}

/// How the user spelt a flag, for messages about its value.
std::string spelling_used(const Flag& flag, const std::vector<std::string>& words) {
  const std::vector<std::string> all = spellings(flag);
  std::string used = all.front();
  for (const std::string& word : words) {
    const std::string name = with_dashes(word).substr(0, word.find('='));
    if (base::contains(all, name)) used = name;
  }
  return used;
}

Result<void> check_words(const Command& command, const Arguments& arguments) {
  if (arguments.has("help")) return {};
  if (arguments.words.size() < command.min_words) {
    return input_error("{}: {} is missing; usage: ergometer {}", command.name, command.words,
                       command.usage);
  }
  if (arguments.words.size() > command.max_words) {
    return input_error("{}: unexpected argument '{}'; usage: ergometer {}", command.name,
                       arguments.words[command.max_words], command.usage);
  }
  return {};
}

struct Parser {
  CLI::App app;
  std::vector<CLI::Option*> options;  ///< one a flag, in the flags' order; null: not in the words
  std::vector<std::string> words;
};

/// Whether the words may name the flag: one letter may stand among others, as in `-vh`.
bool may_be_named(const Flag& flag, const std::set<std::string>& names) {
  if (flag.short_name.size() == 1) return true;
  const std::vector<std::string> all = spellings(flag);
  return std::ranges::any_of(all,
                             [&](const std::string& spelling) { return names.contains(spelling); });
}

/// CLI11 compares every option that it is given with every other one, and a command has hundreds:
/// it is given those that it will find.
void set_up(Parser& parser, const std::vector<Flag>& flags, const std::vector<std::string>& words) {
  std::set<std::string> names;
  for (const std::string& word : words) names.insert(with_dashes(word).substr(0, word.find('=')));
  parser.app.set_help_flag();
  parser.app.allow_extras();
  parser.app.add_option("words", parser.words);
  for (const Flag& flag : flags)
    parser.options.push_back(may_be_named(flag, names) ? add_option(parser.app, flag) : nullptr);
}

Result<void> run_parser(Parser& parser, const Command& command,
                        const std::vector<std::string>& words) {
  // CLI11 takes the words last first.
  std::vector<std::string> reversed;
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    reversed.push_back(with_dashes(*word));
  try {
    parser.app.parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch&) {
    // Options take the next word whatever it is, so only the last word can lack one.
    return input_error("{}: {} needs a value", command.name, words.back());
  } catch (const CLI::ParseError& error) {
    return input_error("{}: {}", command.name, error.what());
  }
  return {};
}

}  // namespace

Result<Arguments> parse_arguments(const Command& command,
                                  const std::vector<std::string>& all_words) {
  const std::vector<Flag> flags = all_flags(command);
  const auto own_end = command.runs_another ? std::ranges::find(all_words, "--") : all_words.end();
  const std::vector<std::string> words(all_words.begin(), own_end);
  Parser parser;
  set_up(parser, flags, words);
  ERGOMETER_TRY(run_parser(parser, command, words));
  Arguments arguments;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (parser.options[i] == nullptr || parser.options[i]->count() == 0) continue;
    const std::vector<std::string>& results = parser.options[i]->results();
    const std::string value = results.empty()    ? ""
                              : flags[i].repeats ? fmt::format("{}", fmt::join(results, ","))
                                                 : results.back();
    const std::string written = spelling_used(flags[i], words);
    ERGOMETER_TRY(check_value(command, flags, written, value, words));
    ERGOMETER_TRY(check_choice(flags[i], value));
    arguments.flags[flags[i].name] = value;
    arguments.written[flags[i].name] = written;
  }
  if (own_end != all_words.end()) arguments.command.assign(own_end + 1, all_words.end());
  arguments.words = parser.words;
  for (const std::string& word : parser.app.remaining()) {
    if (is_flag(word)) return unknown_flag(command, flags, word);
    arguments.words.push_back(word);
  }
  ERGOMETER_TRY(check_words(command, arguments));
  return arguments;
}

}  // namespace ergometer::cli
