#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/reading.h"
#include "spec/settings/lora_targets.h"

namespace ergometer::intake {

/// PEFT's adapter_config.json: rank and target modules of LoRA.
Result<Reading> parse_peft(const std::string& text, const std::string& file);

/// PEFT's default for most models: queries and values.
constexpr const char* kPeftTargets = "q,v";

/// The setting's word for all linear layers of the blocks.
constexpr const char* kAllLinear = "qkv,proj,fc1,fc2";

/// The setting's word for a kind of 4- or 8-bit weights in bitsandbytes' or LitGPT's words:
/// "bnb.nf4", "bnb.nf4-dq", "fp4" (which takes as many bits), "bnb.int8". Empty: no such kind.
std::string_view quantized_word(std::string_view kind, bool double_quantized);

/// `lora_targets` of the modules that a file lists at a key, in any framework's words; false where
/// one of them is refused.
bool read_lora_targets(FlatReader& read, std::string_view key, std::string_view listed);
/// `lora` and `lora_targets` from two keys of a file. Without targets PEFT adapts queries and
/// values.
void read_lora(FlatReader& read, std::string_view rank, std::string_view targets);

}  // namespace ergometer::intake
