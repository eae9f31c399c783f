#include "spec/job/matrix_peak.h"

namespace ergometer::spec {

bool has_tf32(const Gpu& gpu) {
  const auto value = [&](std::string_view name) { return gpu.parameters.value_or(name, 0); };
  if (value("peak_fp32_matrix") > 0) return value("peak_fp32") > value("peak_fp32_matrix");
  return value("peak_fp32") > value("peak_vector") || gpu.peak_bf16_flops_per_s > 0;
}

bool multiplies_fp32_as_vectors(const Gpu& gpu, const Training& training) {
  return !(training.tf32 && has_tf32(gpu)) && !gpu.parameters.has("peak_fp32_matrix") &&
         gpu.parameters.has("peak_vector");
}

bool leaves_matrix_units(const Gpu& gpu, const Training& training) {
  return training.precision == Precision::kFp32 && multiplies_fp32_as_vectors(gpu, training);
}

std::string_view matrix_peak(const Gpu& gpu, const Training& training, Precision precision) {
  const auto has = [&](std::string_view name) { return gpu.parameters.has(name); };
  if (precision == Precision::kFp32) {
    if (!training.tf32 && has("peak_fp32_matrix")) return "peak_fp32_matrix";
    if (multiplies_fp32_as_vectors(gpu, training)) return "peak_vector";
    return has("peak_fp32") ? "peak_fp32" : "peak_vector";
  }
  if (precision == Precision::kNvfp4 && has("peak_fp4")) return "peak_fp4";
  const bool narrow = precision == Precision::kFp8 || precision == Precision::kNvfp4;
  if (narrow && has("peak_fp8")) return "peak_fp8";
  if (precision == Precision::kBf16 && has("peak_bf16")) return "peak_bf16";
  return "peak_fp16";
}

namespace {

/// Whether FP32 products on the vector units, without a pause at the boost clock, draw no more than
/// the board holds itself to. Energies and the voltage are those of the highest clock, so that a
/// board's answer is rather no. A tile's operands come from the cache, 4 bytes an element.
bool power_allows_vectors_at_boost(const Gpu& gpu) {
  const auto value = [&](std::string_view name) { return gpu.parameters.value_or(name, 0); };
  for (const std::string_view name : {"tdp", "power.vector", "gemm.tile_m", "gemm.tile_n"})
    if (value(name) <= 0) return false;
  const double cache_bytes_per_flop = 4 * (1 / value("gemm.tile_m") + 1 / value("gemm.tile_n")) / 2;
  const double j_per_flop = value("power.vector") + cache_bytes_per_flop * value("power.cache");
  const double work_w = value("peak_vector") * value("gemm.efficiency") * j_per_flop;
  const double other_w = value("power.constant") + value("power.leakage") + value("power.active");
  return other_w + work_w <= gpu.parameters.value_or("power.cap_held", 1) * value("tdp");
}

}  // namespace

bool multiplies_at_boost(const Gpu& gpu, const Training& training, Precision precision) {
  return precision == Precision::kFp32 && multiplies_fp32_as_vectors(gpu, training) &&
         power_allows_vectors_at_boost(gpu);
}

double clocked_share(const Gpu& gpu, const Training& training, Precision precision) {
  if (multiplies_at_boost(gpu, training, precision)) return 1;
  return gpu.boost_clock_hz > 0 ? gpu.sustained_clock_hz / gpu.boost_clock_hz : 1;
}

}  // namespace ergometer::spec
