#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spread/shard.h"

namespace ergometer::search {

/// What `ergometer search --out` writes and `ergometer merge` joins: the estimates of a search or
/// of one of its shards, before the best of them are played. A text file:
///
///     ergometer search 2                   the format's version
///     search 0123456789abcdef              which search it is
///     shard 1/3
///     word llama3-8b                       the command's words, a line each
///     word --cluster=hgx-h100
///     estimates 96 40800 ...               `search::to_text`
///     end
struct SearchFile {
  std::string identity;
  spread::Shard shard;
  std::vector<std::string> words;  ///< those that say what is searched
  std::string estimates;
};

/// By its first bytes; false where there is none. An error: it cannot be read.
Result<bool> is_search_file(const std::string& path);
/// A file that is none, or that is cut off or damaged, is an input error.
Result<SearchFile> read_search_file(const std::string& path);
Result<SearchFile> parse_search_file(const std::string& text, const std::string& path);
std::string to_text(const SearchFile& file);
Result<void> write_search_file(const SearchFile& file, const std::string& path);

}  // namespace ergometer::search
