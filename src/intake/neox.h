#pragma once

#include <string>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// GPT-NeoX's YAML or JSON, with dashes or underscores: Megatron-LM's sizes beside DeepSpeed's
/// keys. Its experts, and layers other than attention, are refused.
base::Result<Reading> parse_neox(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
