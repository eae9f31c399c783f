#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// torchtune's YAML: its words for what the Trainer's arguments say, over PyTorch's FSDP 2.
/// `overrides` are words of the command line.
Result<Reading> parse_torchtune(const std::string& text, const std::string& file,
                                const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
