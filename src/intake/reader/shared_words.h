#pragma once

#include <cstdint>
#include <string_view>

#include "intake/reader/flat_reader.h"

/// What several frameworks say alike, or a prediction leaves out of several alike. `key`: where the
/// file says it.
namespace ergometer::intake {

/// PyTorch's "bfloat16", "float16" and "float32" as values of `precision`; empty: another type.
std::string_view format_of_type(std::string_view type);
/// "eager", "sdpa", "flash_attention_2" and "flash_attention_3" of transformers as values of
/// `attention_backend`; empty: another word.
std::string_view backend_of_attention(std::string_view word);

/// Layers are computed again, whole; or none is.
void set_recomputation(FlatReader& read, bool again, std::string_view key);
/// Every rank holds the whole model, and gradients are reduced beside the backward pass: PyTorch's
/// DDP.
void set_replicated(FlatReader& read, std::string_view key);
/// GPUs, or ranks that share a batch, as a product whose factors fit the most ranks alone.
void set_ranks(FlatReader& read, std::string_view setting, int64_t some, int64_t times,
               std::string_view key);

/// FSDP that keeps parameters, gradients and the optimizer's states on the host.
void set_fsdp_on_host(FlatReader& read, std::string_view key);

/// What a prediction leaves out of an optimizer other than Adam.
inline constexpr const char* kOtherOptimizer =
    "memory and time: another optimizer's states; predicted as Adam's";
/// Of texts that are neither packed nor cut to one length.
inline constexpr const char* kLengthsOfData =
    "time and memory: sequences are as long as the data's; predicted at the longest";
/// Of an optimizer's states that DeepSpeed keeps on a drive.
inline constexpr const char* kStatesOnDrive =
    "time: the optimizer's states travel from and to an NVMe drive; they are predicted in the "
    "host's memory";
/// Of parameters that a switch of DeepSpeed's stage 3 keeps on the host.
inline constexpr const char* kParametersWait =
    "memory and time: parameters wait on the host; predicted on the GPU";
/// Of activations that are computed once and kept on the host.
inline constexpr const char* kActivationsWait =
    "memory and time: activations wait on the host; predicted on the GPU";
/// Of parameters that DeepSpeed's own file keeps on the host.
inline constexpr const char* kParametersOnHost =
    "memory and time: parameters wait on the host and travel for every layer; they are predicted "
    "on the GPU";
/// Of FSDP that keeps more than the optimizer's states on the host.
inline constexpr const char* kFsdpOnHost =
    "memory and time: parameters and gradients are on the host as well; predicted on the GPU";
/// Of DoRA.
inline constexpr const char* kMagnitudes = "time and memory: magnitudes beside the adapters";

}  // namespace ergometer::intake
