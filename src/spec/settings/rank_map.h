#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::spec {

/// Reads which GPU every rank runs on: numbers and ranges in the order of ranks, "0-3,8-11,4-7", or
/// the path of a file that holds them, separated by commas, blanks or lines, `#` before a comment.
/// What stands in the way has no place: `found "0-x"; allowed: ...`.
Result<std::vector<int64_t>> parse_rank_map(const std::string& text);

/// The same from a file's text.
Result<std::vector<int64_t>> parse_rank_list(std::string_view text);

/// Ranges where numbers run on: "0-3,8-11,4-7".
std::string rank_map_text(const std::vector<int64_t>& gpus);

}  // namespace ergometer::spec
