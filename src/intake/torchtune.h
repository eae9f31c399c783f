#pragma once

#include <string>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// torchtune's YAML: its words for what the Trainer's arguments say, over PyTorch's FSDP 2.
base::Result<Reading> parse_torchtune(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
