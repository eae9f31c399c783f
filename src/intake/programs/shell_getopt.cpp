#include <fmt/format.h>

#include <optional>

#include "base/shell.h"
#include "base/text.h"
#include "intake/programs/shell_utilities.h"

namespace ergometer::intake {
namespace {

enum class OptionValue { kNone, kNeeded, kOptional };

OptionValue value_behind(std::string_view colons) {
  return colons.starts_with("::")  ? OptionValue::kOptional
         : colons.starts_with(':') ? OptionValue::kNeeded
                                   : OptionValue::kNone;
}

/// getopt of util-linux, which puts a script's arguments into order.
class Getopt {
 public:
  explicit Getopt(const std::vector<ShellText>& words) : words_(words) {}

  std::optional<UtilityResult> run() {
    if (words_.size() == 2 && (words_[1].text == "--test" || words_[1].text == "-T"))
      return UtilityResult{"", 4};
    for (const ShellText& word : words_)
      if (ShellUnknowns::in(word.text)) return std::nullopt;
    if (!read_own()) return std::nullopt;
    while (at_ < words_.size()) take(words_[at_++].text);
    std::string text = options_ + " --" + rest_;
    return UtilityResult{std::move(text) + "\n", failed_ ? 1 : 0};
  }

 private:
  const std::string* next() { return at_ < words_.size() ? &words_[at_++].text : nullptr; }

  /// Its own words, up to the arguments that it reads.
  bool read_own() {
    const bool old = words_.size() > 1 && !words_[1].text.starts_with('-');
    if (old) {
      short_ = words_[1].text;
      quotes_ = false;
      at_ = 2;
      if (at_ < words_.size() && words_[at_].text == "--") ++at_;
      return short_.find_first_of("+-") == short_.npos;
    }
    for (bool said = false; at_ < words_.size();) {
      const std::string word = words_[at_++].text;
      const size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const auto value = [&]() -> std::string {
        if (equals != word.npos) return word.substr(equals + 1);
        const std::string* behind = next();
        return behind == nullptr ? "" : *behind;
      };
      if (word == "--") return said && short_.find_first_of("+-") == short_.npos;
      if (name == "-o" || name == "--options")
        short_ = value(), said = true;
      else if (name == "-l" || name == "--long" || name == "--longoptions" || name == "--longopts")
        long_ += "," + value();
      else if (name == "-n" || name == "--name")
        value();
      else if (name.starts_with("-o") && name.size() > 2)
        short_ = name.substr(2), said = true;
      else if (name != "-q" && name != "--quiet")
        return false;
    }
    return false;
  }

  void take(const std::string& word) {
    if (word == "--") {
      for (; at_ < words_.size(); ++at_) add(rest_, words_[at_].text);
    } else if (word.starts_with("--")) {
      take_long(word.substr(2));
    } else if (word.size() > 1 && word[0] == '-') {
      take_letters(word.substr(1));
    } else {
      add(rest_, word);
    }
  }
  void add(std::string& to, std::string_view word) const {
    to += ' ' + (quotes_ ? base::in_single_quotes(word) : std::string(word));
  }

  /// A long option's whole name; empty: none, or several begin so.
  std::string long_name(std::string_view said, OptionValue& value) const {
    std::string found;
    for (const std::string& item : base::split(long_, ',')) {
      const std::string name = item.substr(0, item.find(':'));
      if (name.empty() || !name.starts_with(said)) continue;
      if (name != said && !found.empty()) return "";
      found = name;
      value = value_behind(std::string_view(item).substr(name.size()));
      if (name == said) break;
    }
    return found;
  }
  void take_long(const std::string& word) {
    const size_t equals = word.find('=');
    OptionValue kind = OptionValue::kNone;
    const std::string name = long_name(word.substr(0, equals), kind);
    const bool takes = !name.empty() && kind == OptionValue::kNeeded && equals == word.npos;
    const std::string* behind = takes ? next() : nullptr;
    const bool lacks = takes && behind == nullptr;
    if (name.empty() || lacks || (kind == OptionValue::kNone && equals != word.npos)) {
      failed_ = true;
      return;
    }
    options_ += " --" + name;
    if (kind != OptionValue::kNone)
      add(options_, behind != nullptr     ? *behind
                    : equals == word.npos ? std::string()
                                          : word.substr(equals + 1));
  }
  void take_letters(const std::string& letters) {
    for (size_t i = 0; i < letters.size(); ++i) {
      const size_t place = letters[i] == ':' ? short_.npos : short_.find(letters[i]);
      const std::string joined = letters.substr(i + 1);
      const OptionValue kind = place == short_.npos
                                   ? OptionValue::kNone
                                   : value_behind(std::string_view(short_).substr(place + 1));
      const bool takes = kind == OptionValue::kNeeded && joined.empty();
      const std::string* behind = takes ? next() : nullptr;
      if (place == short_.npos || (takes && behind == nullptr)) {
        failed_ = true;
        continue;
      }
      options_ += fmt::format(" -{}", letters[i]);
      if (kind == OptionValue::kNone) continue;
      return add(options_, behind == nullptr ? joined : *behind);
    }
  }

  const std::vector<ShellText>& words_;
  size_t at_ = 1;
  bool quotes_ = true, failed_ = false;
  std::string short_, long_, options_, rest_;
};

}  // namespace

std::optional<UtilityResult> shell_getopt(const std::vector<ShellText>& words) {
  return Getopt(words).run();
}

}  // namespace ergometer::intake
