#pragma once

#include <cstdint>
#include <string_view>

namespace ergometer::spec {

/// Vocabulary of a tokenizer that launch scripts and NeMo files name ("GPT2BPETokenizer",
/// "meta-llama/Meta-Llama-3-70B"): from a short table, or of the catalog model with that name or
/// alias. 0 when it is not known.
int64_t tokenizer_vocabulary(std::string_view name);

}  // namespace ergometer::spec
