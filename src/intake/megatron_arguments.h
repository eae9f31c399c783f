#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intake/reader/reading.h"
#include "intake/script/argument.h"

namespace ergometer::intake {

/// Megatron-LM's arguments, and those of its relatives (Megatron-DeepSpeed), as settings. Model
/// dimensions (`--num-layers`, ...) become an inline model; what is not given is off, as it is
/// there.
Result<Reading> read_megatron(const std::vector<Argument>& arguments, const std::string& file);

/// One of Megatron-LM's own test files (MODEL_ARGS: {--num-layers: 12}); nothing when the text is
/// none.
Result<std::optional<Reading>> read_megatron_yaml(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
