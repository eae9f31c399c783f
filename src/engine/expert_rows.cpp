#include "engine/expert_rows.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/simulate.h"
#include "workload/expert_loads.h"

namespace ergometer::engine {
namespace {

using spec::MoeDispatcher;

/// An example: a quarter more room than an even share takes.
constexpr double kCapacity = 1.25;

run::ExpertRow row(std::string setting, const spec::Job& job, const run::Run& run) {
  const workload::ExpertLoads loads = workload::expert_loads(job);
  return {.setting = std::move(setting),
          .step_time_s = run.performance.step_time_s,
          .mean_load = loads.mean_fullest(),
          .most_load = loads.most,
          .dropped_fraction = workload::dropped_share(job),
          .peak_memory_bytes = run.memory.peak_bytes};
}

struct Change {
  std::string setting;
  spec::Job job;
};

std::vector<Change> changes_of(const spec::Job& job) {
  std::vector<Change> changes;
  const auto add = [&](std::string setting) -> spec::Training& {
    return changes.emplace_back(Change{std::move(setting), job}).job.training;
  };
  const spec::Training& t = job.training;
  add("--moe-routing even").moe_routing = {};
  if (t.pads_experts()) return changes;
  if (t.moe_placement == spec::ExpertPlacement::kInOrder && job.parallelism.ep > 1)
    add("--moe-expert-placement by-load").moe_placement = spec::ExpertPlacement::kByLoad;
  // An example: one slot more on every rank.
  if (t.moe_redundant_experts == 0 && job.parallelism.ep > 1) {
    spec::Training& with = add(fmt::format("--moe-redundant-experts {}", job.parallelism.ep));
    with.moe_redundant_experts = job.parallelism.ep;
    with.moe_placement = spec::ExpertPlacement::kByLoad;
  }
  if (t.moe_capacity_factor > 0) return changes;
  if (t.moe_dispatcher == MoeDispatcher::kAllToAll && job.parallelism.ep > 1)
    add("--moe-token-dispatcher-type flex").moe_dispatcher = MoeDispatcher::kDeepEp;
  if (t.moe_dispatcher == MoeDispatcher::kAllToAll || t.moe_dispatcher == MoeDispatcher::kAllGather)
    add("--moe-expert-capacity-factor 1.25").moe_capacity_factor = kCapacity;
  return changes;
}

}  // namespace

Result<std::vector<run::ExpertRow>> expert_rows(const spec::Job& job, const run::Run& played) {
  std::vector<run::ExpertRow> rows;
  if (job.training.moe_routing.is_even()) return rows;
  rows.push_back(row("--moe-routing " + job.training.moe_routing.text, job, played));
  for (const Change& change : changes_of(job)) {
    ERGOMETER_ASSIGN(const run::Run run, simulate(change.job, {.intervals = false}));
    rows.push_back(row(change.setting, change.job, run));
  }
  return rows;
}

}  // namespace ergometer::engine
