#pragma once

#include <string>

#include "intake/reader/flat_reader.h"

namespace ergometer::intake {

/// The model of a NeMo 2 or Megatron-Bridge recipe: the class at `section` + "_target_", as the
/// catalog knows it, or the sizes under `section`, under Megatron-Core's names. `tokenizer`: the
/// section that may know the vocabulary.
void read_core_model(FlatReader& read, const std::string& section, const std::string& tokenizer);

/// Megatron-Core pads experts to their capacity only where it is told to (`pads`). Alone, a
/// capacity drops what is above it, which is nothing where tokens are spread evenly: the setting,
/// which pads, is taken back, and why is told.
void settle_capacity(bool pads, Reading& reading);

}  // namespace ergometer::intake
