#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ergometer::importer {

inline constexpr int64_t kMostRanks = 100'000'000;
inline constexpr size_t kMostRankDigits = 8;

/// The rank that a file's name states: "rank-0.json", "rank0_trace", "trace_rank[5]", "r/rank_12",
/// "worker3_step_12". The file's own name counts more than its folders'.
std::optional<int64_t> rank_in_name(std::string_view path);

}  // namespace ergometer::importer
