#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/work/collective_kind.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// The collectives of one kind in one process group, over all ranks.
struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::string group, description, dtype;  ///< empty where the trace does not say
  int64_t group_size = -1;
  int64_t count = 0;     ///< kernels, those of every rank
  int64_t total_ns = 0;  ///< in the kernels: waiting for other ranks is part of it
  int64_t known = 0;     ///< kernels with known bytes
  double bytes = 0;      ///< of those
  /// Mean of those with known bytes, in GB/s: bytes on the bus over time in the kernels; and the
  /// best single one, which waited least.
  double mean_bus_gb_per_s = 0, best_bus_gb_per_s = 0;
};

/// The one with the most time first.
std::vector<CollectiveRow> collective_table(const std::vector<run::RankTrace>& ranks);

/// What is known of the collective behind a communication kernel; nothing, when nothing is.
const run::Collective& collective_of(const run::RankTrace& trace, const run::GpuEvent& event);
/// Its kind, by PyTorch's name or else by the kernel's.
CollectiveKind kind_of(const run::RankTrace& trace, const run::GpuEvent& event);

}  // namespace ergometer::analysis
