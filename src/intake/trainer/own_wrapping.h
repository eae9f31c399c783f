#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/python_program.h"
#include "spec/yaml/yaml_flat.h"

namespace ergometer::intake {

/// Whether a program wraps a model of transformers in PyTorch's FSDP or DDP itself.
bool wraps_model(const std::string& text);

/// How a program's own loop shards its model, as the Trainer's words: FSDP(model, ...),
/// fully_shard(...), apply_activation_checkpointing(...). Refused: what of it only the run knows.
Result<void> add_own_wrapping(PythonProgram& program, spec::FlatYaml& into);

}  // namespace ergometer::intake
