#pragma once

#include <string_view>

#include "spec/job/job.h"

namespace ergometer::spec {

/// TF32 came with BF16, and to AMD's GPUs beside FP32's own matrix units.
bool has_tf32(const Gpu& gpu);

/// Whether products of FP32 run outside the matrix units: they are not rounded to TF32, and the GPU
/// has no matrix mode for FP32 itself.
bool multiplies_fp32_as_vectors(const Gpu& gpu, const Training& training);
/// A job in FP32 all of whose products go to the vector units.
bool leaves_matrix_units(const Gpu& gpu, const Training& training);

/// The catalog's parameter, FLOP/s, that is a GPU's dense peak for matrix products of a precision:
/// "peak_bf16". Precisions that it has no units for take the next wider one's.
std::string_view matrix_peak(const Gpu& gpu, const Training& training, Precision precision);

/// Whether products run at the boost clock, at which data sheets state peaks: those of FP32 outside
/// matrix units, where by the power model's numbers the board's limit allows it. Where these are
/// not known, and of all other products, the sustained clock is taken.
bool multiplies_at_boost(const Gpu& gpu, const Training& training, Precision precision);

/// The part of that peak that the clock leaves: all of it at the boost clock; else sustained over
/// boost clock.
double clocked_share(const Gpu& gpu, const Training& training, Precision precision);

}  // namespace ergometer::spec
