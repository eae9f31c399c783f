#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ergometer::spec {

/// Megatron's patterns over layers (`--moe-layer-freq`), written as Python lists: "[0,1,1]",
/// "([0]*3+[1]*58)",
/// "[1]+[0]*23". Numbers are at least zero. Nothing for anything else, and for more than
/// `max_entries`.
std::optional<std::vector<int64_t>> parse_layer_pattern(std::string_view text, size_t max_entries);

}  // namespace ergometer::spec
