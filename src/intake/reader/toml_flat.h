#pragma once

#include <string>

#include "base/result.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// All values of a TOML file by path ("training.seq_len"), as `spec::flatten_yaml` gives them.
Result<spec::FlatYaml> flatten_toml(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
