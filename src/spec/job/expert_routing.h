#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// Of a model; and its layers.
inline constexpr int64_t kMostExperts = 4096;

/// Reads how tokens choose experts: "even"; "zipf:1.2", the n-th most wanted expert of a layer
/// takes n^-1.2; "hot-expert:8", one expert of each layer takes 8 times its share; "hot-rank:2",
/// all experts of one rank do; "rotating-rank:2", those of another rank in every layer;
/// "bursts:3", those of one rank in every eighth layer; "w0" to "w7", the eight of `kWorkloads`;
/// "file:counts.csv", tokens as counted, with columns layer, expert and tokens (rows of the same
/// expert add up); "counts:5,1,1,1;2,2,2,2", the same in line, a layer between semicolons. Layers
/// of counts are those that have experts, in order; fewer than the model has repeat, an expert that
/// is not named takes none. `experts`: of the model. What is wrong has no place but in a file:
/// `found "zipf"; allowed: ...`, `counts.csv:7: expert: found 9; allowed: 0 to 7`.
Result<ExpertRouting> parse_expert_routing(const std::string& text, int64_t experts);

/// A table of counts in line, "counts:5,1,1,1;2,2,2,2". `file` is what messages call it.
Result<std::string> parse_expert_counts(std::string_view csv, const std::string& file,
                                        int64_t experts = kMostExperts);

/// The same routing without a file: "counts:5,1,1,1;2,2,2,2" for "file:counts.csv".
Result<std::string> routing_without_file(const std::string& text, int64_t experts = kMostExperts);

}  // namespace ergometer::spec
