#pragma once

#include <string>

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// What a model shall have instead of its own sizes; 0: its own.
struct ModelSizes {
  int64_t hidden = 0, ffn = 0, heads = 0, kv_heads = 0;
  int64_t experts = 0;       ///< of a layer
  int64_t first_dense = -1;  ///< dense layers before those with experts; -1: its own
};

/// The config.json that the settings' `model` names, inline, with other sizes under the keys that
/// it has for them. An input error: there is no such model, or it is none with these sizes, as
/// where a size follows from another key.
Result<std::string> scaled_model(const Settings& settings, const ModelSizes& sizes);

}  // namespace ergometer::spec
