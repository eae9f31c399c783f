#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::spread {

/// Which part of a work: the pieces whose position leaves `number - 1` when divided by `count`.
struct Shard {
  size_t number = 1, count = 1;
  bool operator==(const Shard&) const = default;
};

/// "2/8".
Result<Shard> parse_shard(const std::string& text);
std::string to_text(const Shard& shard);

/// The shard's pieces of `pieces`, ascending.
std::vector<size_t> pieces_of(const Shard& shard, size_t pieces);

/// A file and the shard that it holds.
struct NamedShard {
  std::string file;
  Shard shard;
};
/// Where each of the shards of one work stands in `shards`, by its number. Shards of different
/// divisions, the same one twice, missing ones, and a file that needs no others are errors.
Result<std::vector<size_t>> in_order(const std::vector<NamedShard>& shards);

}  // namespace ergometer::spread
