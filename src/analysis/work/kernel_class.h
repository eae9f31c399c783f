#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What a kernel does, judged by its name, as finely as names tell: "gemm", "attention",
/// "convolution", "norm", "softmax", "reduction", "optimizer", "embedding", "pooling",
/// "elementwise", "moe", "copy", "set", "collective", "device_communication" (communication that a
/// kernel does itself, without a collective library's: DeepEP, NVSHMEM, user buffers) or "other".
std::string_view kernel_class(std::string_view name, run::GpuClass kind);

/// The same of the kernels of one trace, whose names are looked at once each.
class KernelClasses {
 public:
  /// `trace` is to outlive it.
  explicit KernelClasses(const run::RankTrace& trace);
  std::string_view of(const run::GpuEvent& event);

 private:
  const run::RankTrace& trace_;
  std::vector<std::array<std::string_view, 3>> known_;  ///< by name and run::GpuClass
};

/// The same by the eight classes of the CharLLM-PPT study, matched as its scripts do (the first
/// rule of docs/guide/read-a-trace.md that holds), so that tables can stand beside its figures.
/// Empty for copies and sets, which it does not count.
std::string_view study_class(std::string_view name, run::GpuClass kind);

}  // namespace ergometer::analysis
