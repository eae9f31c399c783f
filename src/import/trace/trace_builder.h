#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/trace/collective_calls.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Counts what a file holds and a trace does not, by reason, in the order in which they come up.
class DropCounts {
 public:
  void add(std::string_view reason, int64_t count = 1);
  std::vector<run::Dropped> take(const std::string& file);

 private:
  std::vector<run::Dropped> counts_;
};

struct Span {
  int64_t start_ns = 0, duration_ns = 0;
  int64_t end_ns() const { return start_ns + duration_ns; }
};
/// Start and end as a stretch of time; nothing, counted as `what` with its reason, where one is
/// missing or beyond 146 years, or the end lies before the start.
std::optional<Span> read_span(std::optional<int64_t> start, std::optional<int64_t> end,
                              std::string_view what, DropCounts& dropped);

/// A device's or a stream's number; -1 where it is missing or no such number.
inline int32_t small(std::optional<int64_t> number) {
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int32_t>(*number) : -1;
}

/// By the definitions of docs/guide/read-a-trace.md, of kernels.
run::GpuClass class_of_kernel(std::string_view name);

/// One rank's trace in the making, from a source that tells times in whole nanoseconds and joins
/// kernels to calls by correlation.
class TraceBuilder {
 public:
  run::RankTrace trace;

  uint32_t name(std::string_view text);
  void add_range(std::string_view text, int64_t thread, const Span& span);
  /// Of the events, in order, each once: which launches are wanted. Call it once all events are
  /// there, and before add_launch.
  std::vector<int64_t> correlations();
  void add_launch(int64_t correlation, int64_t thread, const Span& span);
  void add_call(CollectiveCall call) { calls_.push_back(std::move(call)); }

  /// Joins launches and collectives, finds the steps, sorts.
  run::RankTrace finish();

 private:
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<int64_t> communication_;  ///< correlations, in order
  std::vector<LaunchingThread> threads_;
  std::vector<CollectiveCall> calls_;
};

}  // namespace ergometer::importer
