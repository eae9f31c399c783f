#include "analysis/work/round_trips.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/math/sum.h"
#include "analysis/work/kernel_class.h"
#include "analysis/work/operator_work.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

bool is_memory_bound(std::string_view kernel_class) {
  constexpr std::array kClasses =
      std::to_array<std::string_view>({"elementwise", "norm", "softmax", "reduction", "copy"});
  return base::contains(kClasses, kernel_class);
}

/// An operator of given shapes, looked at once.
struct KnownOperator {
  std::vector<OperatorInput> inputs;
  OperatorWork work;
};

class Operators {
 public:
  explicit Operators(const run::RankTrace& trace) : trace_(trace) {}

  const KnownOperator& of(uint32_t index) {
    const run::Operator& op = trace_.operators[index];
    const auto [found, is_new] = known_.try_emplace({op.name, op.shapes, op.dtypes, op.values});
    if (is_new) {
      found->second.inputs = inputs_of(trace_, op);
      found->second.work = work_of(trace_.names[op.name], found->second.inputs);
    }
    return found->second;
  }

 private:
  const run::RankTrace& trace_;
  std::map<std::array<uint32_t, 4>, KnownOperator> known_;
};

/// Whether `later` can read what `earlier` wrote.
bool hands_over(const KnownOperator& earlier, const KnownOperator& later) {
  if (!earlier.work.memory_bound || !later.work.memory_bound || earlier.work.output_bytes <= 0)
    return false;
  return std::ranges::any_of(later.inputs, [&](const OperatorInput& input) {
    return input.dims == earlier.work.output && input.bytes() == earlier.work.output_bytes;
  });
}

int64_t share_of(const run::GpuEvent& event, const OperatorWork& work, double bytes) {
  const double share = std::min(1.0, bytes / *work.bytes);
  return static_cast<int64_t>(share * static_cast<double>(event.duration_ns));
}

/// Kernels in the order of their streams' work.
std::vector<size_t> in_stream_order(const run::RankTrace& trace) {
  std::vector<size_t> order;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (trace.events[i].kind == run::GpuClass::kCompute) order.push_back(i);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    const run::GpuEvent &x = trace.events[a], &y = trace.events[b];
    return std::tie(x.device, x.stream, x.start_ns) < std::tie(y.device, y.stream, y.start_ns);
  });
  return order;
}

/// `saved`: called with an event and its time that a pair saves, for both of a pair.
RoundTrips walk_pairs(const run::RankTrace& trace, const Attribution& attribution,
                      const std::function<void(size_t, int64_t)>& saved) {
  RoundTrips result;
  Operators operators(trace);
  std::vector<bool> bound;
  for (const std::string& name : trace.names)
    bound.push_back(is_memory_bound(kernel_class(name, run::GpuClass::kCompute)));
  const std::vector<size_t> order = in_stream_order(trace);
  for (size_t i = 0; i < order.size(); ++i) {
    const run::GpuEvent& event = trace.events[order[i]];
    const uint32_t op = attribution.operators[order[i]];
    if (bound[event.name]) add_time(result.memory_bound_ns, event.duration_ns);
    if (op == Attribution::kNone) continue;
    const KnownOperator& later = operators.of(op);
    if (bound[event.name] && later.work.memory_bound) add_time(result.known_ns, event.duration_ns);
    if (i == 0) continue;
    const run::GpuEvent& before = trace.events[order[i - 1]];
    const uint32_t former = attribution.operators[order[i - 1]];
    if (before.stream != event.stream || before.device != event.device ||
        former == Attribution::kNone || former == op)
      continue;
    const KnownOperator& earlier = operators.of(former);
    if (!hands_over(earlier, later)) continue;
    const double bytes = earlier.work.output_bytes;
    ++result.pairs;
    result.bytes += 2 * bytes;
    saved(order[i - 1], share_of(before, earlier.work, bytes));
    saved(order[i], share_of(event, later.work, bytes));
  }
  return result;
}

}  // namespace

RoundTrips round_trips(const run::RankTrace& trace, const Attribution& attribution) {
  int64_t saved_ns = 0;
  RoundTrips result =
      walk_pairs(trace, attribution, [&](size_t, int64_t saved) { add_time(saved_ns, saved); });
  result.saved_ns = saved_ns;
  return result;
}

std::vector<int64_t> handed_over_ns(const run::RankTrace& trace) {
  std::vector<int64_t> saved_ns(trace.events.size(), 0);
  walk_pairs(trace, Attribution(trace), [&](size_t event, int64_t saved) {
    add_time(saved_ns[event], saved);
    saved_ns[event] = std::min(saved_ns[event], trace.events[event].duration_ns);
  });
  return saved_ns;
}

}  // namespace ergometer::analysis
