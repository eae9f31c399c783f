#include "plan/plan.h"

#include "plan/links.h"
#include "plan/placement_cache.h"
#include "plan/program.h"
#include "plan/step_end.h"
#include "plan/vocabulary.h"
#include "spec/job/circuits.h"

namespace ergometer::plan {
namespace {

/// Where the group of every collective lies, seen from `stage`. A transfer's direction tells its
/// peer, and its sender comes first.
std::vector<GroupPlacement> place_operators(const spec::Job& job,
                                            const std::vector<workload::Operator>& operators,
                                            int64_t stage, PlacementCache& cache) {
  const int64_t stages = job.parallelism.pp;
  const spec::CircuitPhases circuits = spec::circuit_phases(job);
  std::vector<GroupPlacement> placed(operators.size());
  for (size_t i = 0; i < operators.size(); ++i) {
    const workload::Operator& op = operators[i];
    if (op.kind != workload::OperatorKind::kCollective) continue;
    if (op.group == workload::GroupKind::kPipeline) {
      const int64_t to_next = is_with_next_stage(op.name) ? 1 : stages - 1;
      const int64_t peer = (stage + to_next) % stages;
      placed[i] = op.name.starts_with("send_") ? cache.pipeline(stage, peer, circuits.passes)
                                               : cache.pipeline(peer, stage, circuits.passes);
    } else {
      placed[i] =
          cache.of(op.group, stage, is_at_the_end(circuits, op) ? circuits.end : circuits.passes);
    }
  }
  return placed;
}

bool moves_a_boundary(const workload::Operator& op) {
  return op.group == workload::GroupKind::kPipeline || op.name == "pipeline_all_gather";
}

}  // namespace

workload::Operator on_fullest_rank(const Plan& plan, size_t op) {
  const std::vector<workload::Operator>& full = plan.uneven->operators;
  if (op < full.size()) return full[op];
  workload::Operator part = plan.operators[op];
  // Of the plan's own, what goes through the pipeline is as long as the micro batch.
  if (!plan.uneven->sequences.even() && moves_a_boundary(part)) {
    part.comm_bytes *= plan.uneven->most(part);
    return part;
  }
  // They divide exchanges of the workload; nothing else of them depends on a load.
  if (part.group != workload::GroupKind::kExpert) return part;
  for (size_t i = 0; i < full.size(); ++i) {
    const workload::Operator& whole = plan.operators[i];
    if (whole.name != part.name || whole.pass != part.pass || whole.comm_bytes <= 0) continue;
    const double share = part.comm_bytes / whole.comm_bytes;
    part.comm_bytes = share * full[i].comm_bytes;
    part.bytes = share * full[i].bytes;
    break;
  }
  return part;
}

Plan make_plan(const spec::Job& job, const workload::Workload& workload) {
  return make_plan(job, workload, job.micro_batches());
}

Plan make_plan(const spec::Job& job, const workload::Workload& workload, int64_t micro_batches) {
  Plan plan;
  plan.stages = divide(job, workload);
  plan.messages = PipelineLinks::messages(job, micro_batches);
  plan.gatherings = VocabularyWork::gatherings(job, micro_batches);
  plan.ranks_per_role = job.stage_ranks();
  plan.uneven = workload.uneven;
  OperatorTable operators(workload);
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    plan.roles.push_back(write_role(job, workload, micro_batches, plan.stages[stage],
                                    static_cast<int64_t>(stage), operators));
  }
  plan.operators = operators.take();
  PlacementCache cache(job);
  for (size_t stage = 0; stage < plan.stages.size(); ++stage) {
    plan.placements.push_back(
        place_operators(job, plan.operators, static_cast<int64_t>(stage), cache));
  }
  return plan;
}

}  // namespace ergometer::plan
