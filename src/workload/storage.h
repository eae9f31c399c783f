#pragma once

#include <string_view>

#include "spec/job/job.h"

namespace ergometer::workload {

/// Bytes that one frozen weight takes while it waits. NF4 (Dettmers et al., QLoRA, 2305.14314, as
/// bitsandbytes has it): two to a byte, an FP32 scale for every 64: 0.5 + 4 / 64 = 0.5625; with
/// double quantization the scales are in 8 bit, an FP32 scale for every 256 of them:
/// 0.5 + 1 / 64 + 4 / (64 x 256) = 0.5159. int8 (Dettmers et al., LLM.int8, 2208.07339): 1, the
/// scale of a row left out.
double frozen_weight_bytes(spec::FrozenWeights kept);

/// Bytes of one of Adam's two moments, for one parameter. 8 bit (Dettmers et al., 2110.02861): an
/// FP32 scale for every 256; FP8: the scale of a tensor left out.
double moment_bytes(spec::Moments kept);

/// Bytes of one trained parameter in FP32 beside the one that computes; none where that is all, two
/// where the optimizer puts it together from both (`Training::master_remainders`).
double master_bytes(const spec::Training& training);

/// Whether the job keeps the weights of this GEMM of a layer quantized: those of linear layers,
/// without adapters, routers and the output layer, which stay in 16 bit.
bool keeps_quantized(const spec::Training& training, std::string_view gemm);

}  // namespace ergometer::workload
