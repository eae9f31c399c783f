#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ergometer::importer {

/// The rank that a file's name states: "rank-0.json", "rank0_trace", "trace_rank[5]", "r/rank_12",
/// "worker3_step_12". The file's own name counts more than its folders'.
std::optional<int64_t> rank_in_name(std::string_view path);

}  // namespace ergometer::importer
