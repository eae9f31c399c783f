#include "engine/recompute_fit.h"

#include "plan/memory.h"
#include "workload/workload.h"

namespace ergometer::engine {
namespace {

bool stage_fits(const spec::Job& job, const workload::Workload& workload, size_t stage) {
  const plan::StageMemory memory =
      plan::memory(job, workload, plan::divide(job, workload)).stages[stage];
  return memory.needed() <= memory.capacity;
}

/// The fewest of a stage's layers with which it fits: more of them never need more memory.
void set_fewest(const workload::Workload& workload, size_t stage, spec::Job& job) {
  int64_t& layers = job.training.recompute_stage_layers[stage];
  int64_t too_few = -1, enough = layers;
  while (enough - too_few > 1) {
    layers = too_few + (enough - too_few) / 2;
    (stage_fits(job, workload, stage) ? enough : too_few) = layers;
  }
  layers = enough;
}

}  // namespace

spec::Job recomputed_by_memory(const spec::Job& job) {
  spec::Job fitted = job;
  fitted.training.recompute_method = spec::RecomputeMethod::kBlock;
  fitted.training.recompute_layers = 0;
  fitted.training.recompute_stage_layers = plan::layers_per_chunk(job);
  const workload::Workload workload = workload::lower(fitted);
  for (size_t stage = 0; stage < fitted.training.recompute_stage_layers.size(); ++stage)
    set_fewest(workload, stage, fitted);
  return fitted;
}

}  // namespace ergometer::engine
