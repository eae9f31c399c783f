#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// All GPU events of one name, over all ranks. Times are sums of durations: streams that run side
/// by side count each.
struct KernelRow {
  std::string name;
  std::string_view kernel_class;
  run::GpuClass kind = run::GpuClass::kCompute;
  int64_t count = 0, total_ns = 0, shortest_ns = 0, longest_ns = 0;
};

/// The one with the most time first; equal times by name.
std::vector<KernelRow> kernel_table(const std::vector<run::RankTrace>& ranks);

/// The same rows summed by class; `name` is the class.
std::vector<KernelRow> class_table(const std::vector<KernelRow>& kernels);
/// The same by the study's classes (`study_class`), without copies and sets.
std::vector<KernelRow> study_table(const std::vector<KernelRow>& kernels);

}  // namespace ergometer::analysis
