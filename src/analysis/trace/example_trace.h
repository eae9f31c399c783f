#pragma once

#include <cstdint>
#include <string>

#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// A rank's trace that a test puts together call by call: an operator, what it launches, ranges.
class ExampleTrace {
 public:
  run::RankTrace trace;

  uint32_t name(const std::string& text) {
    trace.names.push_back(text);
    return static_cast<uint32_t>(trace.names.size() - 1);
  }
  /// On thread 1 unless said otherwise.
  run::Operator& op(const std::string& text, int64_t start, int64_t end, int64_t thread = 1) {
    trace.operators.push_back(
        {.name = name(text), .thread = thread, .start_ns = start, .duration_ns = end - start});
    return trace.operators.back();
  }
  /// With shapes and types as Kineto writes them.
  run::Operator& shaped(const std::string& text, int64_t start, int64_t end,
                        const std::string& shapes, const std::string& dtypes) {
    const uint32_t first = name(shapes), second = name(dtypes);
    run::Operator& o = op(text, start, end);
    o.shapes = first;
    o.dtypes = second;
    return o;
  }
  ExampleTrace& range(const std::string& text, int64_t start, int64_t end, int64_t thread = 1,
                      bool gpu = false) {
    trace.ranges.push_back({name(text), gpu, thread, start, end - start});
    return *this;
  }
  /// A kernel on stream 7 that a call of one nanosecond launched.
  ExampleTrace& kernel(const std::string& text, int64_t launched, int64_t start, int64_t end,
                       int64_t thread = 1) {
    const auto correlation = static_cast<int64_t>(trace.launches.size());
    trace.launches.push_back({.correlation = correlation,
                              .start_ns = launched,
                              .duration_ns = 1,
                              .thread = thread,
                              .name = name("cudaLaunchKernel")});
    return alone(text, start, end, correlation);
  }
  /// One whose launch is not in the trace.
  ExampleTrace& alone(const std::string& text, int64_t start, int64_t end,
                      int64_t correlation = -1) {
    trace.events.push_back({.start_ns = start,
                            .duration_ns = end - start,
                            .correlation = correlation,
                            .name = name(text),
                            .device = 0,
                            .stream = 7});
    return *this;
  }
};

}  // namespace ergometer::analysis
