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

/// An optimizer other than Adam.
void tell_other_optimizer(FlatReader& read, std::string_view key);
/// Texts that are neither packed nor cut to one length.
void tell_lengths_of_data(FlatReader& read, std::string_view key);
/// Optimizer's states that DeepSpeed keeps on a drive.
void tell_states_on_drive(FlatReader& read, std::string_view key);
/// Parameters that DeepSpeed keeps on the host.
void tell_parameters_on_host(FlatReader& read, std::string_view key);
/// FSDP that keeps parameters, gradients and the optimizer's states on the host.
void set_fsdp_on_host(FlatReader& read, std::string_view key);
/// DoRA.
void tell_magnitudes(FlatReader& read, std::string_view key);

}  // namespace ergometer::intake
