#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

struct NeoxFile {
  std::string text, file;
};
/// GPT-NeoX's YAML or JSON, with dashes or underscores: Megatron-LM's sizes beside DeepSpeed's
/// keys. Several files are one configuration, of which the last word counts. Its experts, and
/// layers other than attention, are refused.
Result<Reading> parse_neox(const std::vector<NeoxFile>& files);

}  // namespace ergometer::intake
