#pragma once

#include <string_view>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What a kernel does, judged by its name, as finely as names tell: "gemm", "attention",
/// "convolution", "norm", "softmax", "reduction", "optimizer", "embedding", "pooling",
/// "elementwise", "moe", "copy", "set", "collective", "device_communication" (communication that a
/// kernel does itself, without a collective library's: DeepEP, NVSHMEM, user buffers) or "other".
std::string_view kernel_class(std::string_view name, run::GpuClass kind);

}  // namespace ergometer::analysis
