#pragma once

#include <string>

#include "intake/reader/flat_reader.h"

namespace ergometer::intake {

/// The model of a NeMo 2 or Megatron-Bridge recipe: the class at `section` + "_target_", as the
/// catalog knows it, or the sizes under `section`, under Megatron-Core's names. `tokenizer`: the
/// section that may know the vocabulary.
void read_core_model(FlatReader& read, const std::string& section, const std::string& tokenizer);

}  // namespace ergometer::intake
