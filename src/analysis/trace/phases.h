#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/work/attribution.h"
#include "run/gpu_trace.h"

namespace ergometer::analysis {

/// The part of a training step that a GPU event belongs to.
enum class Phase : uint8_t {
  kForward,
  kRecomputation,  ///< forward work repeated in backward (activation checkpointing)
  kBackward,
  kOptimizer,      ///< step, clipping and clearing of gradients
  kCommunication,  ///< a collective of which nothing says in which phase it is
  kUnknown,
  kCount
};
inline constexpr size_t kPhases = static_cast<size_t>(Phase::kCount);
std::string_view to_word(Phase phase);

/// What says so, the surest first.
enum class Evidence : uint8_t {
  kOperator,  ///< autograd's operators around the launch
  kRange,     ///< a range whose name says it
  kName,      ///< the kernel's name
  kNone,
  kCount
};
std::string_view to_word(Evidence evidence);

struct PhaseOfEvent {
  Phase phase = Phase::kUnknown;
  Evidence evidence = Evidence::kNone;
};

/// One for every event. The launch of an event decides, not where it ran:
///  1. within a range of the optimizer (`Optimizer.step#`, "optimizer"): optimizer;
///  2. within an operator of autograd's backward pass (evaluate_function, a forward thread, a name
///     that ends in Backward): backward; recomputation where an operator between them carries a
///     sequence number, which only operators that autograd records do;
///  3. within a range named for forward, backward or recomputation on the launch's thread;
///  4. an operator with a sequence number outside all that: forward; any operator, where none has a
///     number but there are some of backward (PyTorch 1.8);
///  5. a range on the GPU's stream, then one of another thread;
///  6. the kernel's name where it is sure: "adam", "bwd", "dgrad", ...
/// A second derivative (create_graph) looks like recomputation.
std::vector<PhaseOfEvent> phases_of(const run::RankTrace& trace, const Attribution& attribution);

/// The phase that a range's name speaks of; kUnknown for "forward_backward" and most others.
Phase phase_of_range(std::string_view name);

/// All events of a phase, over all ranks. Sums of durations, but `busy_ns`: a rank's union.
struct PhaseRow {
  Phase phase = Phase::kUnknown;
  int64_t count = 0, total_ns = 0, busy_ns = 0;
  int64_t compute_ns = 0, communication_ns = 0, memory_ns = 0;
};
struct PhaseTable {
  std::vector<PhaseRow> rows;  ///< in the order of `Phase`; those with events
  int64_t total_ns = 0;
  std::array<int64_t, static_cast<size_t>(Evidence::kCount)> by_evidence_ns{};
  /// There are operators, and none of them was recorded by autograd: inference, or no gradients.
  bool without_autograd = false;

  /// Share of the GPU time that has a phase.
  double assigned_fraction() const;
};
/// Adds one rank's.
void add_phases(const run::RankTrace& trace, const std::vector<PhaseOfEvent>& phases,
                PhaseTable& table);

}  // namespace ergometer::analysis
