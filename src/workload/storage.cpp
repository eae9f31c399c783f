#include "workload/storage.h"

namespace ergometer::workload {

double frozen_weight_bytes(spec::FrozenWeights kept) {
  constexpr double kPacked = 0.5, kBlock = 64, kScalesBlock = 256;
  switch (kept) {
    case spec::FrozenWeights::k16Bit: break;
    case spec::FrozenWeights::kInt8: return 1;
    case spec::FrozenWeights::kNf4: return kPacked + 4 / kBlock;
    case spec::FrozenWeights::kNf4Double: return kPacked + 1 / kBlock + 4 / (kBlock * kScalesBlock);
  }
  return 2;
}

double moment_bytes(spec::Moments kept) {
  constexpr double kBlock = 256;
  switch (kept) {
    case spec::Moments::kFp32: break;
    case spec::Moments::kBf16:
    case spec::Moments::kFp16: return 2;
    case spec::Moments::kFp8: return 1;
    case spec::Moments::k8Bit: return 1 + 4 / kBlock;
  }
  return 4;
}

double master_bytes(const spec::Training& training) {
  if (training.precision == spec::Precision::kFp32 || !training.master_weights) return 0;
  return training.master_remainders ? 2 : 4;
}

bool keeps_quantized(const spec::Training& training, std::string_view gemm) {
  return training.quantize != spec::FrozenWeights::k16Bit && gemm != "head" && gemm != "router" &&
         gemm.find("_lora_") == gemm.npos;
}

}  // namespace ergometer::workload
