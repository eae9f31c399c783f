#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "intake/reader/python_program.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// The model, as the text of a config.json, that a Python program makes of a configuration which it
/// writes (`LlamaForCausalLM(LlamaConfig(hidden_size=2048, ...))`) or changes
/// (`AutoConfig.from_pretrained("gpt2", n_layer=6)`, `config.num_hidden_layers = 12`). Nothing
/// where it takes a published one as it is. An error:
/// sizes that are known only when it runs. Text
/// and statements are those of `values`.
Result<std::optional<spec::FlatValue>> python_model(PythonProgram& program);

}  // namespace ergometer::intake
