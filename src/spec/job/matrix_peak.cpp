#include "spec/job/matrix_peak.h"

namespace ergometer::spec {

bool multiplies_fp32_as_vectors(const Gpu& gpu, const Training& training) {
  return !training.tf32 && !gpu.parameters.has("peak_fp32_matrix") &&
         gpu.parameters.has("peak_vector");
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

double clocked_share(const Gpu& gpu, const Training& training, Precision precision) {
  if (precision == Precision::kFp32 && multiplies_fp32_as_vectors(gpu, training)) return 1;
  return gpu.boost_clock_hz > 0 ? gpu.sustained_clock_hz / gpu.boost_clock_hz : 1;
}

}  // namespace ergometer::spec
