#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "engine/views/step_tasks.h"

namespace ergometer::engine {
namespace {

using plan::InstructionKind;
using workload::CollectiveKind;
using workload::Operator;

/// In the order of workload::GroupKind.
constexpr std::array<const char*, workload::kGroupKindCount> kGroups = {
    "tp", "cp", "ep", "etp", "dp", "edp", "fsdp", "replica", "pp", "embedding", "world", "stages"};
/// In the order of workload::CollectiveKind.
constexpr std::array kKinds = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                               "send_recv"};

/// Bytes that cross a member's link for each byte of the buffer, as nccl-tests defines bus
/// bandwidth.
double bus_factor(CollectiveKind kind, double members) {
  if (members <= 1) return 0;
  const double others = (members - 1) / members;
  if (kind == CollectiveKind::kAllReduce) return 2 * others;
  return kind == CollectiveKind::kSendRecv ? 1 : others;
}

struct GroupUse {
  double calls = 0, bytes = 0, bus_bytes = 0, total_s = 0, transfer_s = 0, exposed_s = 0;
};

}  // namespace

double transfer_s(const EngineInput& input, const Span& span, const plan::Instruction& it) {
  const auto role = static_cast<size_t>(span.rank / input.plan.ranks_per_role);
  const cost::Price& price = input.costs.prices[role][static_cast<size_t>(it.op)];
  const bool stretched = !input.stretch.empty() && !input.stretch[role].empty();
  const double stretch =
      stretched ? static_cast<double>(input.stretch[role][static_cast<size_t>(span.instruction)])
                : 1;
  return (price.fixed_s + price.clocked_s) * stretch;
}

namespace {

void add(const EngineInput& input, const Span& span, size_t role, const plan::Instruction& it,
         GroupUse& use) {
  const Operator& op = input.plan.operators[static_cast<size_t>(it.op)];
  const double length_s = span.end_s - span.start_s;
  // Waiting for other stages counts as idle time.
  const bool across = it.kind == InstructionKind::kWorld;
  if (it.stream == workload::Stream::kCompute)
    use.exposed_s += across ? std::min(length_s, transfer_s(input, span, it)) : length_s;
  if (is_wait(it)) return;
  const auto members =
      static_cast<double>(input.plan.placements[role][static_cast<size_t>(it.op)].size);
  use.calls += 1;
  use.bytes += op.comm_bytes;
  use.bus_bytes += bus_factor(op.collective, members) * op.comm_bytes;
  use.total_s += length_s;
  use.transfer_s += std::min(length_s, transfer_s(input, span, it));
}

}  // namespace

const char* group_word(workload::GroupKind group) { return kGroups.at(static_cast<size_t>(group)); }
const char* collective_word(CollectiveKind kind) { return kKinds.at(static_cast<size_t>(kind)); }

std::vector<run::CollectiveUse> collective_use(const EngineInput& input,
                                               const std::vector<Span>& spans,
                                               const Timeline& timeline) {
  std::map<std::pair<workload::GroupKind, CollectiveKind>, GroupUse> uses;
  std::set<int64_t> ranks;
  for (const Span& span : spans) {
    const auto role = static_cast<size_t>(span.rank / input.plan.ranks_per_role);
    const plan::Instruction& it =
        input.plan.roles[role].program[static_cast<size_t>(span.instruction)];
    ranks.insert(span.rank);
    if (it.op < 0 || it.kind == InstructionKind::kRecord) continue;
    const Operator& op = input.plan.operators[static_cast<size_t>(it.op)];
    if (op.kind != workload::OperatorKind::kCollective) continue;
    add(input, span, role, it, uses[{op.group, op.collective}]);
  }
  const auto count = static_cast<double>(ranks.size());
  std::vector<run::CollectiveUse> all;
  for (auto& [key, use] : uses) {
    if (use.calls == 0) continue;
    const auto& [group, kind] = key;
    if (kind == CollectiveKind::kSendRecv) {
      // Waiting for a neighbour that has not sent yet is idle time; the sweep tells the two apart.
      use.exposed_s = 0;
      for (const int64_t rank : ranks)
        use.exposed_s +=
            timeline.ranks[static_cast<size_t>(rank)].parts_s[static_cast<size_t>(Part::kSendRecv)];
    }
    all.push_back({.group = group_word(group),
                   .kind = collective_word(kind),
                   .calls = use.calls / count,
                   .bytes = use.bytes / count,
                   .total_s = use.total_s / count,
                   .exposed_s = use.exposed_s / count,
                   .bus_gb_per_s = use.transfer_s > 0 ? use.bus_bytes / use.transfer_s * 1e-9 : 0});
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return all;
}

}  // namespace ergometer::engine
