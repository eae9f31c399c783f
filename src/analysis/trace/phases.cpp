#include "analysis/trace/phases.h"

#include <algorithm>
#include <string>

#include "analysis/math/intervals.h"
#include "analysis/math/sum.h"
#include "base/text.h"

namespace ergometer::analysis {
namespace {

/// "AddmmBackward0", "CheckpointFunctionBackward", "torch::autograd::AccumulateGrad".
bool is_backward_node(std::string_view name) {
  if (name.starts_with("aten::")) return false;
  if (name.starts_with("autograd::engine::evaluate_function")) return true;
  while (!name.empty() && base::is_digit(name.back())) name.remove_suffix(1);
  return name.ends_with("Backward") || name.ends_with("::AccumulateGrad");
}

/// A kernel's name where it can mean one phase only: a forward kernel may be recomputation.
Phase phase_of_kernel(const std::string& name) {
  const std::string text = base::lower(name.substr(0, name.find('(')));
  if (base::contains_any(text, {"adam", "fusedsgd", "adagrad"})) return Phase::kOptimizer;
  if (base::contains_any(text, {"_bwd", "bwd_", "bn_bw", "backward", "dgrad", "wgrad"}))
    return Phase::kBackward;
  return Phase::kUnknown;
}

/// Ranges that name a phase, and which of them is the innermost at a time.
class PhaseRanges {
 public:
  /// Of one kind; with `any_thread` as if all were on one.
  PhaseRanges(const run::RankTrace& trace, bool gpu, bool any_thread)
      : any_thread_(any_thread), ranges_(named(trace, gpu)), tree_(ranges_) {}

  Phase at(int64_t thread, int64_t time_ns) const {
    const uint32_t range = tree_.of({.start_ns = time_ns, .thread = any_thread_ ? 0 : thread});
    return range == run::OperatorTree::kNone ? Phase::kUnknown
                                             : static_cast<Phase>(ranges_[range].name);
  }

 private:
  /// As operators, whose nesting the tree knows; the phase stands for the name.
  std::vector<run::Operator> named(const run::RankTrace& trace, bool gpu) const {
    std::vector<Phase> of_name(trace.names.size(), Phase::kCount);
    std::vector<run::Operator> ranges;
    for (const run::Range& range : trace.ranges) {
      if (range.gpu != gpu) continue;
      Phase& phase = of_name[range.name];
      if (phase == Phase::kCount) phase = phase_of_range(trace.names[range.name]);
      if (phase == Phase::kUnknown) continue;
      ranges.push_back({.name = static_cast<uint32_t>(phase),
                        .thread = any_thread_ ? 0 : range.thread,
                        .start_ns = range.start_ns,
                        .duration_ns = range.duration_ns});
    }
    return ranges;
  }

  bool any_thread_;
  std::vector<run::Operator> ranges_;
  run::OperatorTree tree_;
};

class PhaseFinder {
 public:
  PhaseFinder(const run::RankTrace& trace, const Attribution& attribution)
      : trace_(trace),
        attribution_(attribution),
        cpu_(trace, false, false),
        cpu_of_any_thread_(trace, false, true),
        gpu_(trace, true, false) {
    for (const std::string& name : trace.names) {
      of_kernel_.push_back(phase_of_kernel(name));
      is_backward_.push_back(is_backward_node(name));
    }
    for (const run::Operator& op : trace.operators) {
      numbered_ = numbered_ || op.sequence >= 0;
      trains_ = trains_ || is_backward_[op.name];
    }
  }

  PhaseOfEvent of(size_t index) const {
    const run::GpuEvent& event = trace_.events[index];
    const run::Launch* launch = attribution_.launches[index];
    const Phase autograd = by_autograd(attribution_.operators[index]);
    const Phase range =
        launch == nullptr ? Phase::kUnknown : cpu_.at(launch->thread, launch->start_ns);
    if (range == Phase::kOptimizer) return {range, Evidence::kRange};
    if (autograd != Phase::kUnknown && autograd != Phase::kForward)
      return {autograd, Evidence::kOperator};
    if (range != Phase::kUnknown) return {range, Evidence::kRange};
    if (autograd == Phase::kForward) return {autograd, Evidence::kOperator};
    return without_operator(event, launch);
  }

 private:
  Phase by_autograd(uint32_t op) const {
    bool recorded = false;
    const bool any = op != Attribution::kNone;
    for (; op != Attribution::kNone; op = attribution_.tree.parent(op)) {
      const run::Operator& o = trace_.operators[op];
      if (is_backward_[o.name] || o.forward_thread > 0)
        return recorded ? Phase::kRecomputation : Phase::kBackward;
      recorded = recorded || o.sequence >= 0;
    }
    // Before 2021's end no operator had a number; what runs outside backward then is forward.
    const bool forward = recorded || (any && trains_ && !numbered_);
    return forward ? Phase::kForward : Phase::kUnknown;
  }

  PhaseOfEvent without_operator(const run::GpuEvent& event, const run::Launch* launch) const {
    Phase phase = gpu_.at(event.stream, event.start_ns);
    if (phase == Phase::kUnknown && launch != nullptr)
      phase = cpu_of_any_thread_.at(0, launch->start_ns);
    if (phase != Phase::kUnknown) return {phase, Evidence::kRange};
    phase = of_kernel_[event.name];
    if (phase != Phase::kUnknown && event.kind == run::GpuClass::kCompute)
      return {phase, Evidence::kName};
    if (event.kind == run::GpuClass::kCommunication)
      return {Phase::kCommunication, Evidence::kNone};
    return {};
  }

  const run::RankTrace& trace_;
  const Attribution& attribution_;
  PhaseRanges cpu_, cpu_of_any_thread_, gpu_;
  std::vector<Phase> of_kernel_;   ///< of every name
  std::vector<bool> is_backward_;  ///< the same
  bool numbered_ = false;          ///< operators carry sequence numbers
  bool trains_ = false;            ///< there are operators of autograd's backward pass
};

}  // namespace

std::string_view to_word(Phase phase) {
  switch (phase) {
    case Phase::kForward: return "forward";
    case Phase::kRecomputation: return "recomputation";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
    case Phase::kCommunication: return "communication";
    default: return "unknown";
  }
}

std::string_view to_word(Evidence evidence) {
  switch (evidence) {
    case Evidence::kOperator: return "operators";
    case Evidence::kRange: return "ranges";
    case Evidence::kName: return "kernel_names";
    default: return "none";
  }
}

Phase phase_of_range(std::string_view name) {
  const std::string text = base::lower(name);
  if (base::contains_any(text, {"recompute", "recomputation"})) return Phase::kRecomputation;
  if (base::contains_any(text,
                         {"optimizer", "optim_step", "engine.step", "zero_grad", "clip_grad"}))
    return Phase::kOptimizer;
  const bool forward = base::contains_any(text, {"forward", "fwd"});
  const bool backward = base::contains_any(text, {"backward", "bwd", "backprop"});
  if (forward == backward) return Phase::kUnknown;
  return forward ? Phase::kForward : Phase::kBackward;
}

std::vector<PhaseOfEvent> phases_of(const run::RankTrace& trace, const Attribution& attribution) {
  const PhaseFinder finder(trace, attribution);
  std::vector<PhaseOfEvent> phases;
  phases.reserve(trace.events.size());
  for (size_t i = 0; i < trace.events.size(); ++i) phases.push_back(finder.of(i));
  return phases;
}

double PhaseTable::assigned_fraction() const {
  if (total_ns <= 0) return 0;
  const int64_t none = by_evidence_ns[static_cast<size_t>(Evidence::kNone)];
  return static_cast<double>(total_ns - none) / static_cast<double>(total_ns);
}

void add_phases(const run::RankTrace& trace, const std::vector<PhaseOfEvent>& phases,
                PhaseTable& table) {
  std::array<PhaseRow, kPhases> rows;
  for (size_t i = 0; i < kPhases; ++i) rows[i].phase = static_cast<Phase>(i);
  for (const PhaseRow& row : table.rows) rows[static_cast<size_t>(row.phase)] = row;
  std::array<std::vector<Interval>, kPhases> pieces;
  for (size_t i = 0; i < phases.size(); ++i) {
    const run::GpuEvent& event = trace.events[i];
    const auto phase = static_cast<size_t>(phases[i].phase);
    PhaseRow& row = rows[phase];
    ++row.count;
    add_time(row.total_ns, event.duration_ns);
    add_time(table.total_ns, event.duration_ns);
    add_time(table.by_evidence_ns[static_cast<size_t>(phases[i].evidence)], event.duration_ns);
    add_time(event.kind == run::GpuClass::kCompute         ? row.compute_ns
             : event.kind == run::GpuClass::kCommunication ? row.communication_ns
                                                           : row.memory_ns,
             event.duration_ns);
    pieces[phase].push_back({event.start_ns, event.end_ns()});
  }
  for (size_t i = 0; i < kPhases; ++i)
    add_time(rows[i].busy_ns, length(unite(std::move(pieces[i]))));
  table.rows.assign(rows.begin(), rows.end());
  std::erase_if(table.rows, [](const PhaseRow& row) { return row.count == 0; });
  const bool recorded = std::ranges::any_of(trace.operators, [](const run::Operator& op) {
    return op.sequence >= 0 || op.forward_thread > 0;
  });
  table.without_autograd = !trace.operators.empty() && !recorded;
}

}  // namespace ergometer::analysis
