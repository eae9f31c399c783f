#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// XTuner's configuration in Python, as `xtuner train` takes it.
bool is_xtuner_config(const std::string& text);
/// `words`: what stands behind the configuration, "deepspeed" above all.
Result<Reading> parse_xtuner(const std::string& text, const std::string& file,
                             const spec::FlatYaml& words = {});

}  // namespace ergometer::intake
