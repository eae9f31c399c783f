#include "intake/script/argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "intake/reader/framework_options.h"

namespace ergometer::intake {
namespace {

/// Negative numbers are values, everything else that starts with dashes is the next argument.
bool is_flag(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && base::is_letter(word[2]);
}

/// Without what stands in front of an option in place of two dashes: one, or those of word
/// processors; empty where there is nothing of the kind.
std::string_view behind_other_dashes(std::string_view word) {
  constexpr std::array kDashes = std::to_array<std::string_view>(
      {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212", "-"});
  std::string_view rest = word;
  const auto strip = [&] {
    const auto dash =
        std::ranges::find_if(kDashes, [&](std::string_view it) { return rest.starts_with(it); });
    if (dash != kDashes.end()) rest.remove_prefix(dash->size());
    return dash != kDashes.end();
  };
  while (strip()) {}
  return rest.size() == word.size() || word.starts_with("--") ? "" : rest;
}

/// Arguments whose value is a path, a name or an address: never another argument.
bool names_something(std::string_view name) {
  constexpr std::array kParts = std::to_array<std::string_view>(
      {"path",       "dir",   "save",  "load",    "file",     "name",  "project", "data", "addr",
       "port",       "split", "token", "prefix",  "log",      "cache", "url",     "_id",  "model",
       "checkpoint", "rank",  "iters", "samples", "interval", "steps", "seed",    "mins"});
  return std::ranges::any_of(kParts,
                             [&](std::string_view part) { return base::contains(name, part); });
}

class ArgumentList {
 public:
  ArgumentList(const std::vector<ShellText>& words, const ShellRun& run,
               const ArgumentKnowledge& knows)
      : words_(words), run_(run), knows_(knows) {}

  Result<std::vector<Argument>> read() {
    for (size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      check_dashes(i);
      check_is_one_word(i);
      if (is_flag(word)) {
        add(i);
      } else if (ShellUnknowns::in(word) && is_mark(word)) {
        // Not any argument's value: nothing stands in front, or one that has its own.
        if (arguments_.empty() || has_own_value(i)) look_inside(i);
      }
      if (!error_.empty()) return input_error(error_);
    }
    return std::move(arguments_);
  }

 private:
  bool has_own_value(size_t i) const {
    return i > 0 && is_flag(words_[i - 1].text) &&
           words_[i - 1].text.find('=') != std::string::npos;
  }
  bool follows_own_option(size_t i) const {
    return i > 0 && is_flag(words_[i - 1].text) && !has_own_value(i) &&
           words_[i - 1].text.find(' ') == std::string::npos &&
           !knows_.reads(name_in_word(words_[i - 1].text));
  }
  static bool is_mark(std::string_view word) {
    return word.starts_with('\x01') && word.find('\x02') == word.size() - 1;
  }
  const ShellUnknowns::Entry& entry(const std::string& text) const {
    return run_.session.unknowns.entry(text);
  }
  void refuse(size_t i, std::string_view what) {
    if (error_.empty())
      error_ = fmt::format("{}: {} {}", run_.session.where(words_[i].line), what,
                           run_.session.unknowns.reason(words_[i].text));
  }

  /// argparse takes "-micro-batch-size 4" for a word that it does not know, and stops.
  void check_dashes(size_t i) {
    const std::string_view rest = behind_other_dashes(words_[i].text);
    const std::string said = fmt::format("--{}", rest.substr(0, rest.find('=')));
    const std::string name = name_in_word(said);
    // "-bs" may be an option of the program's own.
    if (!base::contains(name, "_") || !error_.empty() || !knows_.reads(name)) return;
    error_ = fmt::format("{}: {}: an option begins with two plain dashes; allowed: {}",
                         run_.session.where(words_[i].line),
                         words_[i].text.substr(0, words_[i].text.find('=')), said);
  }

  /// A list of "--name value" that is expanded within quotes. Behind an option of the program's own
  /// it may be that one's value, as argparse takes what holds a blank.
  void check_is_one_word(size_t i) {
    const std::string& word = words_[i].text;
    const std::string name = word.substr(0, std::min(word.find(' '), word.find('=')));
    if (!error_.empty() || !is_flag(word) || name.size() == word.size() ||
        word[name.size()] != ' ' || !knows_.reads(name_in_word(name)) || follows_own_option(i))
      return;
    error_ = fmt::format(
        "{}: \"{}\" is one word, for quotes stand around it, and no program takes an option and "
        "its value as one; allowed: {} and its value as two words",
        run_.session.where(words_[i].line), word.substr(0, 60), name);
  }

  void add(size_t i) {
    const std::string& word = words_[i].text;
    const size_t equals = word.find('=');
    Argument argument;
    argument.name = name_in_word(word);
    argument.where = run_.session.where(words_[i].line);
    if (equals != word.npos) {
      argument.value = argument.list = word.substr(equals + 1);
    } else {
      constexpr size_t kMostValues = 32;
      for (size_t j = i + 1; j < words_.size() && j <= i + kMostValues && !is_flag(words_[j].text);
           ++j) {
        if (is_mark(words_[j].text) && !is_value(argument, j)) {
          look_inside(j);
          continue;
        }
        if (argument.list.empty()) argument.value = words_[j].text;
        argument.list += (argument.list.empty() ? "" : ",") + words_[j].text;
      }
    }
    if (ShellUnknowns::in(argument.list))
      argument.unknown = run_.session.unknowns.reason(argument.list);
    arguments_.push_back(std::move(argument));
  }

  /// Whether something unknown behind an argument is its value, not more arguments.
  bool is_value(const Argument& argument, size_t j) const {
    const ShellUnknowns::Entry& unknown = entry(words_[j].text);
    const bool first = argument.list.empty();
    if (!unknown.choices.empty()) {
      const auto is_one_word = [](const std::string& choice) {
        return !choice.empty() && choice.find(' ') == choice.npos && !is_flag(choice);
      };
      return first && std::ranges::all_of(unknown.choices, is_one_word);
    }
    if (!unknown.any_words) return true;
    if (!first || argument.name.starts_with("no_") || argument.name.starts_with("mock_"))
      return false;
    return names_something(argument.name) ||
           (knows_.reads(argument.name) && !knows_.is_switch(argument.name));
  }

  /// Words that may or may not be there: fine as long as none of them counts.
  void look_inside(size_t i) {
    const ShellUnknowns::Entry& unknown = entry(words_[i].text);
    if (unknown.choices.empty() && !unknown.any_words) return;
    if (unknown.any_words) return refuse(i, "the words here are those of");
    for (const std::string& choice : unknown.choices) {
      for (const std::string& word : base::split(choice, ' ')) {
        if (ShellUnknowns::in(word) && word != words_[i].text && entry(word).any_words)
          return refuse(i, "the words here depend on");
        if (is_flag(word) && knows_.reads(name_in_word(word)))
          return refuse(
              i, fmt::format("whether {} stands here depends on", word.substr(0, word.find('='))));
      }
    }
  }

  const std::vector<ShellText>& words_;
  const ShellRun& run_;
  const ArgumentKnowledge& knows_;
  std::vector<Argument> arguments_;
  std::string error_;
};

}  // namespace

Result<std::vector<Argument>> arguments_of(const std::vector<ShellText>& words, const ShellRun& run,
                                           const ArgumentKnowledge& knows) {
  return ArgumentList(words, run, knows).read();
}

}  // namespace ergometer::intake
