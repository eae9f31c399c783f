#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "intake/reader/flat_reader.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// PEFT's adapter_config.json: rank and target modules of LoRA.
base::Result<Reading> parse_peft(const std::string& text, const std::string& file);

/// The table's words for the modules that `targets`, a list with commas in any framework's words,
/// names: "qkv,proj"; empty for all linear layers. No value: a word is known to nobody, and
/// `unknown` is it.
std::optional<std::string> lora_targets(std::string_view targets, std::string& unknown);

/// `lora` and `lora_targets` from two keys of a file. Without targets PEFT adapts queries and
/// values.
void read_lora(FlatReader& read, std::string_view rank, std::string_view targets);

}  // namespace ergometer::intake
