#pragma once

#include <cstdint>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// What launching costs on one rank. Graph launches are calls whose name holds "GraphLaunch"; one
/// starts many events.
struct LaunchOverhead {
  int64_t calls = 0,
          call_ns = 0;  ///< of which a GPU event is known, those of graphs not among them
  int64_t median_call_ns = 0;
  int64_t graph_calls = 0, graph_call_ns = 0, graph_events = 0;
  /// From the start of the call to the start of its event, of those that no graph launched: short
  /// where the GPU waits for launches, long where launches run ahead.
  int64_t events = 0, median_delay_ns = 0, p95_delay_ns = 0;
  /// Kernels that are over sooner than the CPU can launch the next (`median_call_ns`).
  int64_t short_kernels = 0, short_ns = 0;
};

LaunchOverhead launch_overhead(const run::RankTrace& trace);

}  // namespace ergometer::analysis
