#include "base/nearest.h"

#include <algorithm>
#include <string>
#include <vector>

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

}  // namespace ergometer::base
