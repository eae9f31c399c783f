#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// An experiment of AMD's Primus: modules.pre_trainer with its model and `overrides`.
Result<Reading> parse_primus(const std::string& text, const std::string& file,
                             const ScriptContext& context = {});
/// Megatron-LM's --yaml-cfg: arguments under language_model, model_parallel and at the top.
Result<Reading> parse_megatron_yaml(const std::string& text, const std::string& file);

}  // namespace ergometer::intake
