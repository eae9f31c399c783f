#include "spread/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/text.h"

namespace ergometer::spread {

Result<Shard> parse_shard(const std::string& text) {
  constexpr int64_t kMost = 100'000;
  const size_t slash = text.find('/');
  const auto number = base::parse_integer(text.substr(0, slash));
  const auto count = base::parse_integer(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (!number || !count || *number < 1 || *count > kMost || *number > *count)
    return input_error(
        "--shard: '{}' is not a part of a whole, like 1/4: a number from 1, a slash, how many",
        text);
  return Shard{static_cast<size_t>(*number), static_cast<size_t>(*count)};
}

std::string to_text(const Shard& shard) { return fmt::format("{}/{}", shard.number, shard.count); }

std::vector<size_t> pieces_of(const Shard& shard, size_t pieces) {
  std::vector<size_t> ours;
  for (size_t i = shard.number - 1; i < pieces; i += shard.count) ours.push_back(i);
  return ours;
}

Result<std::vector<size_t>> in_order(const std::vector<NamedShard>& shards) {
  const NamedShard& first = shards.front();
  const size_t count = first.shard.count;
  std::vector<std::optional<size_t>> places(count);
  for (size_t i = 0; i < shards.size(); ++i) {
    const auto& [file, shard] = shards[i];
    if (shard.count != count)
      return input_error("{} and {}: are shards {} and {}; all must be of the same number",
                         first.file, file, to_text(first.shard), to_text(shard));
    std::optional<size_t>& place = places[shard.number - 1];
    if (place)
      return input_error("{} and {}: both hold shard {}", shards[*place].file, file,
                         to_text(shard));
    place = i;
  }
  if (count == 1) return input_error("{}: holds the whole; there is nothing to merge", first.file);
  std::vector<size_t> order;
  std::vector<std::string> missing;
  for (size_t i = 0; i < count; ++i)
    if (places[i])
      order.push_back(*places[i]);
    else
      missing.push_back(to_text({i + 1, count}));
  if (missing.empty()) return order;
  const size_t all = missing.size();
  constexpr size_t kShown = 8;
  if (all > kShown) missing.resize(kShown);
  return input_error("merge: {} shard{} missing: {}{}", all, all == 1 ? " is" : "s are",
                     fmt::join(missing, ", "), all > kShown ? ", ..." : "");
}

}  // namespace ergometer::spread
