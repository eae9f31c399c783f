#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// A NeMo 1 file, as `spec::parse_nemo` reads it, with what it leaves told apart.
Result<Reading> parse_nemo_1(const std::string& text, const std::string& file,
                             const ScriptContext& context = {},
                             const spec::FlatYaml& overrides = {});
/// A recipe of NeMo 2 in YAML (trainer.strategy, model.config, data).
Result<Reading> parse_nemo_2(const std::string& text, const std::string& file,
                             const ScriptContext& context = {});
Result<Reading> read_nemo_2(const spec::FlatYaml& values, const std::string& file);
Result<Reading> read_megatron_bridge(const spec::FlatYaml& values, const std::string& file);
/// A recipe of Megatron-Bridge in YAML (model, train, ddp, mixed_precision, dataset).
Result<Reading> parse_megatron_bridge(const std::string& text, const std::string& file,
                                      const ScriptContext& context = {});

}  // namespace ergometer::intake
