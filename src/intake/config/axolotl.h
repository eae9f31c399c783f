#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// Axolotl's YAML: the Trainer's arguments under names of its own. `overrides` are options of its
/// command line.
Result<Reading> parse_axolotl(const std::string& text, const std::string& file,
                              const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
