#pragma once

#include "run/gpu_trace.h"

namespace ergometer::analysis {

inline constexpr int64_t kUs = 1000, kMs = 1000 * kUs, kSecond = 1000 * kMs;

/// A trace of one rank for tests; every event has a name of its own.
struct TestTrace {
  run::RankTrace trace;
  explicit TestTrace(int64_t rank = 0) { trace.rank = rank; }

  TestTrace& kernel(int64_t start, int64_t end, int32_t stream = 7, const char* name = "gemm",
                    run::GpuClass kind = run::GpuClass::kCompute) {
    trace.names.emplace_back(name);
    run::GpuEvent event;
    event.start_ns = start;
    event.duration_ns = end - start;
    event.name = static_cast<uint32_t>(trace.names.size() - 1);
    event.device = 0;
    event.stream = stream;
    event.kind = kind;
    trace.events.push_back(event);
    return *this;
  }
  /// On stream 20, of a group of two, numbered.
  TestTrace& collective(int64_t start, int64_t end, int64_t sequence,
                        const char* name = "allreduce", const char* group = "g", int64_t size = 2,
                        const char* description = "mesh_tp", int64_t elements = 1000) {
    kernel(start, end, 20, "ncclDevKernel", run::GpuClass::kCommunication);
    trace.events.back().collective = static_cast<uint32_t>(trace.collectives.size());
    trace.collectives.push_back(
        {name, group, description, "Float", elements, elements, size, sequence});
    return *this;
  }
  /// The launch of the event that was added last.
  TestTrace& launched(int64_t at, int64_t duration = 1) {
    const auto correlation = static_cast<int64_t>(trace.events.size());
    trace.events.back().correlation = correlation;
    run::Launch launch;
    launch.correlation = correlation;
    launch.external_id = correlation;
    launch.start_ns = at;
    launch.duration_ns = duration;
    trace.launches.push_back(launch);
    return *this;
  }
  TestTrace& step(int64_t number, int64_t start, int64_t end) {
    trace.steps.push_back({number, start, end});
    return *this;
  }
};

}  // namespace ergometer::analysis
