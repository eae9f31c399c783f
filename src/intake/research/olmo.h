#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// OLMo's YAML, with words like --model.n_layers=16 over it.
Result<Reading> parse_olmo(const std::string& text, const std::string& file,
                           const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
