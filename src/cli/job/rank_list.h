#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ergometer::cli {

/// "0,8-15": rank numbers and ranges below `ranks`, in order; "all". An input error names `flag`.
Result<std::vector<int64_t>> parse_ranks(const std::string& flag, const std::string& text,
                                         int64_t ranks);

}  // namespace ergometer::cli
