#pragma once

#include <optional>
#include <vector>

#include "analysis/work/shape_table.h"
#include "run/gpu_trace.h"

namespace ergometer::cli {

/// Data-sheet peaks of the GPU that all traces name ("NVIDIA H100 80GB HBM3"); nothing where they
/// differ, name none, or name one whose peaks the catalog does not have.
std::optional<analysis::DevicePeak> peak_of(const std::vector<run::RankTrace>& ranks);

}  // namespace ergometer::cli
