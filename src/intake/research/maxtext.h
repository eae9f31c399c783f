#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// MaxText's YAML on GPUs, with words like per_device_batch_size=4 over it. What no file says is
/// base.yml's, which MaxText reads below every other.
Result<Reading> parse_maxtext(const std::string& text, const std::string& file,
                              const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
