#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// nanotron's YAML, told by `parallelism.dp` or by `tokens` beside `model.model_config`. Models are
/// its Llama and Qwen2 kinds without experts; what others it has is refused.
Result<Reading> parse_nanotron(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
