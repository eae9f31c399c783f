#include "import/text/rank_name.h"

#include <charconv>
#include <string>

#include "base/text.h"

namespace ergometer::importer {
namespace {

/// The number behind `word`, with at most one of "-_=[( ." between them.
std::optional<int64_t> number_behind(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    size_t first = at + word.size();
    if (first < text.size() &&
        std::string_view("-_=[( .").find(text[first]) != std::string_view::npos)
      ++first;
    size_t last = first;
    while (last < text.size() && text[last] >= '0' && text[last] <= '9') ++last;
    if (last == first || last - first > kMostRankDigits) continue;
    int64_t number = 0;
    std::from_chars(text.data() + first, text.data() + last, number);
    return number;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> rank_in_name(std::string_view path) {
  std::string lower(path);
  for (char& c : lower) c = base::lower(c);
  std::string_view rest = lower;
  while (!rest.empty()) {
    const size_t slash = rest.rfind('/');
    const std::string_view part = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
    // A local rank says nothing: every node has one.
    for (const std::string_view word : {"globalrank", "global_rank", "rank", "worker"}) {
      if (part.find("local") != std::string_view::npos && word == "rank") continue;
      if (const auto rank = number_behind(part, word)) return rank;
    }
    if (slash == std::string_view::npos) break;
    rest = rest.substr(0, slash);
  }
  return std::nullopt;
}

}  // namespace ergometer::importer
