#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ergometer::spec {

/// Megatron's patterns over layers (`--moe-layer-freq`), written as Python lists: "[0,1,1]",
/// "([0]*3+[1]*58)",
/// "[1]+[0]*23", or as a list of YAML's is read: "0,1,1". Numbers are at least zero. Nothing for
/// anything else, and for more than `max_entries`.
std::optional<std::vector<int64_t>> parse_layer_pattern(std::string_view text, size_t max_entries);

/// Megatron's window of attention, "127,0" or "(127, 0)": how many tokens before and behind each it
/// attends to besides itself. The tokens that are attended to, 128; 0: all, as -1 says. Nothing for
/// anything else.
std::optional<int64_t> parse_attention_window(std::string_view text);

}  // namespace ergometer::spec
