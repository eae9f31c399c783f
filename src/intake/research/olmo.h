#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/python_values.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// OLMo's YAML, with words like --model.n_layers=16 over it.
Result<Reading> parse_olmo(const std::string& text, const std::string& file,
                           const spec::FlatYaml& overrides = {});

/// A program of OLMo-core: what it builds a TransformerTrainModuleConfig of.
bool calls_olmo_core(const std::string& text);
/// Its words, --train_module.rank_microbatch_size=8192, count over what it builds.
Result<Reading> parse_olmo_core(const std::string& text, const std::string& file,
                                PythonStart start = {});

}  // namespace ergometer::intake
