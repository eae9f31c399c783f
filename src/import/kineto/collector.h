#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/trace/trace_builder.h"
#include "run/gpu_trace.h"

namespace ergometer::importer {

/// Why an entry of a trace is no GPU event of what is analysed.
enum class DropReason : uint8_t {
  kNotGpu,  ///< of the CPU, or of no use; launches, operators and ranges are counted here and kept
  kNotAnObject,
  kMalformed,
  kTooLarge,
  kNotComplete,
  kNoStart,
  kBadStart,
  kNoDuration,
  kBadDuration,
  kNegativeDuration,
  kNoName,
  kCutOff,
  kCount
};
std::string_view describe(DropReason reason);

/// What an event is good for, by its category.
enum class EventUse : uint8_t { kUnknown, kNone, kGpu, kLaunch, kOperator, kRange, kGpuRange };
EventUse use_of_category(std::string_view category);

/// One event's values as they stand in the file, strings without quotes; empty where missing.
struct EventText {
  std::string_view phase, category, name, start, duration, process, thread;
  // of "args"
  std::string_view device, stream, correlation, external_id;
  std::string_view collective, in_elements, out_elements, group_size, dtype, group, description,
      sequence;
  // of an operator's "args"; lists as they stand in the file
  std::string_view shapes, dtypes, values, record_function_id, sequence_number, forward_thread;
};

/// Whether an operator's work depends on more than its inputs' shapes ("Concrete Inputs").
bool needs_values(std::string_view operator_name);

/// Builds a RankTrace event by event.
class Collector {
 public:
  void add(const EventText& event, EventUse use);
  void drop(DropReason reason) { ++dropped_[static_cast<size_t>(reason)]; }
  /// An object with a "ph" was seen: the file is a trace.
  void note_phase() { ++phases_; }
  int64_t phases() const { return phases_; }
  int64_t entries() const;

  /// Joins kernels to their launches and collectives, sorts, and gives the trace away.
  run::RankTrace finish(const std::string& file);

 private:
  struct CommOp {
    int64_t external_id = -1;
    uint32_t collective = 0;
  };

  void add_gpu(const EventText& event);
  void add_launch(const EventText& event);
  void add_operator(const EventText& event);
  void add_range(const EventText& event, bool gpu);
  void add_step(const EventText& event, const Span& span);
  std::optional<Span> gpu_span(const EventText& event);
  uint32_t name_index(std::string_view escaped);
  uint32_t list_index(std::string_view list);
  uint32_t index_of(std::string_view text);
  run::GpuClass class_of_name(uint32_t name);
  uint32_t add_collective(const EventText& event);
  void join_collectives();
  void keep_launches_of_events();
  void keep_operators_of_launches();
  void keep_names_in_use();

  run::RankTrace trace_;
  std::deque<std::string> texts_;  ///< what `trace_` names, before those in use are known
  std::unordered_map<std::string_view, uint32_t> indices_;  ///< of `texts_`
  std::vector<std::optional<run::GpuClass>> classes_;       ///< of kernels, by name, where known
  std::vector<CommOp> comm_ops_;
  /// GPU events that communicate and do not say what, with their external id.
  std::vector<std::pair<size_t, int64_t>> unnamed_;
  std::array<int64_t, static_cast<size_t>(DropReason::kCount)> dropped_{};
  int64_t phases_ = 0;
  std::string scratch_;
};

}  // namespace ergometer::importer
