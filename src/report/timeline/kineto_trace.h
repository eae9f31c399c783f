#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/timeline/trace.h"

namespace ergometer::report {

/// Whether the file's name asks for PyTorch's own terms: "step.kineto.json", "step.kineto.json.gz".
bool is_kineto_path(const std::string& path);

/// Writes the kernels as PyTorch's profiler would have recorded them, one file a rank, and returns
/// the files: `path` of one rank, else "step.rank-8.kineto.json.gz" and so on. Every kernel has the
/// call that launched it and the operator around that, joined by `correlation` and `External id`;
/// collectives carry what PyTorch notes of them; the step is `ProfilerStep#0`. When the host
/// launches is not predicted: all calls stand at the step's begin, or at their kernel's where that
/// is earlier.
Result<std::vector<std::string>> write_kineto(const run::Run& run, const KernelSource& kernels,
                                              const std::string& path);

}  // namespace ergometer::report
