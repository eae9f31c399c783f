#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// GPT-NeoX's YAML or JSON, with dashes or underscores: Megatron-LM's sizes beside DeepSpeed's
/// keys. Its experts, and layers other than attention, are refused.
struct NeoxFile {
  std::string text, file;
};
/// Several files are one configuration, of which a later one says it last.
base::Result<Reading> parse_neox(const std::vector<NeoxFile>& files);

}  // namespace ergometer::intake
