#include "spec/settings/rank_map.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {
namespace {

constexpr size_t kLargestMap = 16u << 20;
constexpr size_t kItemShown = 40;

bool separates(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Result<void> add_item(std::string_view item, std::vector<int64_t>& gpus) {
  const size_t dash = item.find('-');
  const auto first = base::parse_integer(item.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : base::parse_integer(item.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last >= kMostRanks)
    return input_error(
        "found \"{}\"; allowed: GPUs and ranges of them, separated by commas, such as "
        "0-3,8-11,4-7, or a file that holds them",
        item.substr(0, kItemShown));
  if (std::ssize(gpus) + *last - *first >= kMostRanks)
    return input_error("holds more than {} GPUs", kMostRanks);
  for (int64_t gpu = *first; gpu <= *last; ++gpu) gpus.push_back(gpu);
  return {};
}

bool is_list(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return separates(c) || c == '-' || (c >= '0' && c <= '9'); });
}

}  // namespace

Result<std::vector<int64_t>> parse_rank_list(std::string_view text) {
  std::vector<int64_t> gpus;
  while (!text.empty()) {
    if (text.front() == '#') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (separates(text.front())) {
      text.remove_prefix(1);
    } else {
      size_t end = 0;
      while (end < text.size() && !separates(text[end]) && text[end] != '#') ++end;
      ERGOMETER_TRY(add_item(text.substr(0, end), gpus));
      text.remove_prefix(end);
    }
  }
  if (gpus.empty()) return input_error("holds no GPU; the form is 0-3,8-11,4-7");
  return gpus;
}

Result<std::vector<int64_t>> parse_rank_map(const std::string& text) {
  if (is_list(text)) return parse_rank_list(text);
  auto content = base::read_file(text, kLargestMap);
  if (!content) return tl::unexpected(content.error());
  auto gpus = parse_rank_list(*content);
  if (!gpus) return input_error("{}: {}", text, gpus.error().message);
  return gpus;
}

std::string rank_map_text(const std::vector<int64_t>& gpus) { return base::ranges_text(gpus); }

}  // namespace ergometer::spec
