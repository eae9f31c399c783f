#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// torchtitan's TOML, of releases before and after its sections were renamed. `overrides`: what
/// stands behind the file on torchtitan's command line, "training.seq_len" and "4096";
/// no value is a switch.
Result<Reading> parse_torchtitan(const std::string& text, const std::string& file,
                                 const spec::FlatYaml& overrides = {});

/// The same of values by the paths of its TOML.
Result<Reading> read_torchtitan(spec::FlatYaml values, const std::string& file,
                                const spec::FlatYaml& overrides = {});
/// What a function of a module's registry in Python returns, by the paths of TOML.
Result<spec::FlatYaml> torchtitan_registry(const std::string& text, const std::string& file,
                                           const std::string& module, const std::string& config);

}  // namespace ergometer::intake
