#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// torchtitan's TOML, of releases before and after its sections were renamed. `overrides`: what
/// stands behind the file on torchtitan's command line, "training.seq_len" and "4096";
/// no value is a switch.
base::Result<Reading> parse_torchtitan(const std::string& text, const std::string& file,
                                       const spec::FlatYaml& overrides = {});

}  // namespace ergometer::intake
