#pragma once

#include <string_view>

#include "spec/job/job.h"

namespace ergometer::spec {

/// Whether products of FP32 run outside the matrix units: they are not rounded to TF32, and the GPU
/// has no matrix mode for FP32 itself.
bool multiplies_fp32_as_vectors(const Gpu& gpu, const Training& training);

/// The catalog's parameter, FLOP/s, that is a GPU's dense peak for matrix products of a precision:
/// "peak_bf16". Precisions that it has no units for take the next wider one's.
std::string_view matrix_peak(const Gpu& gpu, const Training& training, Precision precision);

/// The part of that peak that the clock leaves: sustained over boost clock, which is what power
/// leaves of matrix units; all of it outside these, where data sheets count at the highest clock
/// and products draw so much less that it holds.
double clocked_share(const Gpu& gpu, const Training& training, Precision precision);

}  // namespace ergometer::spec
