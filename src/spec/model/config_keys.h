#pragma once

#include <span>
#include <string_view>

namespace ergometer::spec {

/// All spellings of a config.json key, its own first: `hidden_size` is `n_embd` in GPT-2 and
/// `d_model` in MPT. The span holds as long as `key` does.
std::span<const std::string_view> config_spellings(const std::string_view& key);

/// Keys that say nothing about a model's size or work: token ids, initializers, data types, rope
/// constants, ...
bool is_harmless_config_key(std::string_view key);

}  // namespace ergometer::spec
