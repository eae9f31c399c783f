#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "spec/settings.h"

namespace ergometer::intake {

/// Megatron-LM arguments: a launch script, an argument file, or one of Megatron's own test YAMLs
/// (MODEL_ARGS). Model dimensions given as arguments (`--num-layers`, ...) become an inline model.
/// Arguments that mean nothing to a simulation are listed in `ignored`.
base::Result<spec::Settings> read_megatron_arguments(const std::string& path,
                                                     std::vector<std::string>& ignored);
/// The same from text; `file` is what messages call it.
base::Result<spec::Settings> parse_megatron_arguments(const std::string& text,
                                                      const std::string& file,
                                                      std::vector<std::string>& ignored);

}  // namespace ergometer::intake
