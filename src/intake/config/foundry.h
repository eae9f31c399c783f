#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// MosaicML's LLM Foundry YAML: MPT by its sizes, or a model of the Hub, over PyTorch's FSDP.
Result<Reading> parse_foundry(const std::string& text, const std::string& file,
                              const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
