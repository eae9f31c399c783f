#pragma once

#include <regex.h>

#include <array>
#include <string>

// Regular expressions of scripts, kept to those that end soon.

namespace ergometer::intake {

inline constexpr size_t kLongestFiltered = 4'000;  ///< characters of a line

/// Patterns that take no more than a line's length times their own.
inline bool is_plain_pattern(const std::string& pattern) {
  return pattern.size() < 200 && pattern.find('{') == pattern.npos;
}

/// A compiled expression, freed with it.
class Pattern {
 public:
  Pattern(const std::string& text, bool extended)
      : good_(is_plain_pattern(text) && !refers_back(text) &&
              regcomp(&regex_, text.c_str(), extended ? REG_EXTENDED : 0) == 0) {}
  ~Pattern() {
    if (good_) regfree(&regex_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  bool good() const { return good_; }
  bool find(const char* text, bool at_begin, std::array<regmatch_t, 10>& found) const {
    return regexec(&regex_, text, found.size(), found.data(), at_begin ? 0 : REG_NOTBOL) == 0;
  }
  bool matches(const std::string& line) const {
    return regexec(&regex_, line.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  /// \1 within a pattern may take longer than anyone waits.
  static bool refers_back(const std::string& text) {
    for (size_t i = 0; i + 1 < text.size(); ++i)
      if (text[i] == '\\' && text[++i] >= '1' && text[i] <= '9') return true;
    return false;
  }
  regex_t regex_{};
  bool good_;
};

}  // namespace ergometer::intake
