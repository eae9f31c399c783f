#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ergometer::spec {

/// Megatron-LM's `--pipeline-model-parallel-layout`: "E" embedding, "t" layer, "m" MTP module, "L"
/// loss, "|" the border of a chunk; "t*4" and "(tt|)*30" repeat. "Et*4|(t*4|)*14tmL" is 16 chunks.
/// Returns the decoder layers of every chunk, in order.
Result<std::vector<int64_t>> parse_pipeline_layout(std::string_view text);

}  // namespace ergometer::spec
