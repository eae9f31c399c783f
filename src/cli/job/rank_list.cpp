#include "cli/job/rank_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::cli {

Result<std::vector<int64_t>> parse_ranks(const std::string& flag, const std::string& text,
                                         int64_t ranks) {
  std::vector<int64_t> list;
  const auto number = [&](std::string_view word, int64_t& value) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value >= 0 && value < ranks;
  };
  for (const std::string& part : text == "all"
                                     ? std::vector<std::string>{fmt::format("0-{}", ranks - 1)}
                                     : base::split(text, ',')) {
    const size_t dash = part.find('-');
    int64_t first = 0, last = 0;
    bool good = number(std::string_view(part).substr(0, dash), first);
    last = first;
    if (dash != std::string::npos)
      good = good && number(std::string_view(part).substr(dash + 1), last);
    if (!good || last < first)
      return input_error("{}: '{}' is not a rank or a range of ranks from 0 to {}, like 0,8-11",
                         flag, part, ranks - 1);
    for (int64_t rank = first; rank <= last; ++rank) list.push_back(rank);
  }
  base::sort_unique(list);
  if (list.empty()) return input_error(flag + ": no rank is named; like 0,8-11 or all");
  return list;
}

}  // namespace ergometer::cli
