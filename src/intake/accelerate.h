#pragma once

#include <string>

#include "base/result.h"
#include "intake/reading.h"

namespace ergometer::intake {

/// The YAML that `accelerate config` writes: number of GPUs, precision, and DeepSpeed, FSDP, DDP or
/// Megatron-LM with their settings.
base::Result<Reading> parse_accelerate(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
