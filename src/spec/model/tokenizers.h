#pragma once

#include <cstdint>
#include <string_view>

namespace ergometer::spec {

/// Vocabulary of a tokenizer that launch scripts and NeMo files name ("GPT2BPETokenizer",
/// "meta-llama/Meta-Llama-3-70B"): from a short table, or of the catalog model with that name or
/// alias. 0 when it is not known.
int64_t tokenizer_vocabulary(std::string_view name);

/// Words of a tokenizer of Pai-Megatron-Patch (`--patch-tokenizer-type`), to which its
/// `--extra-vocab-size` adds the special ones; 0 when it is not known.
int64_t patch_tokenizer_words(std::string_view name);

}  // namespace ergometer::spec
