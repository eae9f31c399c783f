#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/collection.h"

namespace ergometer::base {
namespace {

constexpr size_t kLongestWord = 256;   // suggestions for longer input help nobody and cost time
constexpr size_t kShortestPrefix = 3;  // fewer letters begin too many words

char fold(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

std::string fold(std::string_view word) {
  std::string folded(word);
  for (char& c : folded) c = fold(c);
  return folded;
}

bool separates(char c) { return c == '_' || c == '.' || c == ' '; }

/// What a name says, in words that mean something: "num_node" and "node-count" are both "nodes".
std::vector<std::string> meaning(std::string_view name) {
  constexpr std::array<std::string_view, 5> kCounts = {"count", "num", "number", "total", "n"};
  constexpr std::array<std::string_view, 3> kFillers = {"of", "the", "size"};
  const auto is_in = [](const auto& list, std::string_view word) {
    return base::contains(list, word);
  };
  std::vector<std::string> words = {""};
  bool counts = false;
  for (const char c : fold(name) + '_') {
    if (!separates(c)) {
      words.back() += c;
    } else if (is_in(kCounts, words.back())) {
      counts = true;
      words.back().clear();
    } else if (is_in(kFillers, words.back())) {
      words.back().clear();
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  words.pop_back();
  if (counts && words.size() == 1 && !words[0].ends_with('s')) words[0] += 's';
  return words;
}

bool begins(std::string_view longer, std::string_view shorter) {
  return shorter.size() >= kShortestPrefix && longer.starts_with(shorter);
}

}  // namespace

size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = fold(first);
  const std::string b = fold(second);
  if (std::max(a.size(), b.size()) > kLongestWord) return std::max(a.size(), b.size());
  // Three rows of the distance table: the row before last is what a swap of neighbours looks back
  // to.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

size_t nearest_limit(std::string_view word) { return std::max<size_t>(1, word.size() / 3); }

size_t suggestion_distance(std::string_view word, std::string_view candidate) {
  const size_t distance = edit_distance(word, candidate);
  const bool continues = word.size() >= kShortestPrefix && fold(candidate).starts_with(fold(word));
  return continues ? std::min(distance, nearest_limit(word)) : distance;
}

bool has_words(std::string_view name) {
  const std::string folded = fold(name);
  const auto first = std::ranges::find_if_not(folded, separates);
  return std::find_if(first, folded.end(), separates) != folded.end();
}

std::optional<size_t> distance_in_words(std::string_view word, std::string_view candidate) {
  if (std::max(word.size(), candidate.size()) > kLongestWord) return std::nullopt;
  const std::vector<std::string> asked = meaning(word);
  std::vector<std::string> left = meaning(candidate);
  if (asked.empty()) return std::nullopt;
  size_t distance = 0;
  for (const std::string& part : asked) {
    auto found = std::ranges::find(left, part);
    if (found == left.end()) {
      distance += 1;
      found = std::ranges::find_if(left, [&](const std::string& other) {
        return begins(other, part) || begins(part, other);
      });
    }
    if (found == left.end()) return std::nullopt;
    left.erase(found);
  }
  return distance + 2 * left.size();
}

std::string did_you_mean(const std::optional<std::string_view>& guess) {
  return guess ? fmt::format("; did you mean {}?", *guess) : "";
}

}  // namespace ergometer::base
