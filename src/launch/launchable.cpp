#include "launch/launchable.h"

#include "launch/megatron.h"
#include "launch/nemo.h"
#include "launch/torchtitan.h"
#include "spec/job/compression.h"

namespace ergometer::launch {

using spec::Job;

Result<void> check_launchable(const Job& job) {
  if (job.training.mode != spec::Mode::kPretrain)
    return input_error(
        "launch starts pre-training alone: inference and LoRA need a checkpoint to start from");
  if (job.model.vision != nullptr)
    return input_error("launch writes jobs of text alone; {} has a vision tower", job.model.name);
  if (!job.training.master_weights || job.training.moments != spec::Moments::kFp32)
    return input_error(
        "launch writes optimizers that keep parameters and moments in FP32; leave "
        "--no-master-weights and --optimizer-moments out");
  if (!job.training.fuse.empty())
    return input_error(
        "the job says fuse: a what-if, which no framework has an option for; leave it out");
  if (!spec::activation_compression(job).none() || !spec::gradient_compression(job).none())
    return input_error(
        "the job says compress_activations or compress_gradients: no framework launched here has "
        "an option for it; leave it out");
  if (!job.parallelism.rank_map.empty())
    return input_error(
        "the job says rank_map: the order of ranks is the scheduler's here; leave it out");
  if (!job.parallelism.group_micro_batches.empty())
    return input_error(
        "the job says batches_by_speed: frameworks give every replica as many micro batches; leave "
        "it out");
  if (job.model.experts.count % job.parallelism.ep != 0)
    return input_error(
        "launch: --ep {} divides {} experts with their copies alone, and no framework launched "
        "here has copies; take an --ep that divides the experts",
        job.parallelism.ep, job.model.experts.count);
  const bool limited = job.conditions.power_cap_w > 0 || job.conditions.lock_clock_hz > 0;
  if (limited && job.cluster.node.gpu.vendor != "NVIDIA")
    return input_error(
        "the job says power_cap or lock_clock: launch sets them with nvidia-smi, and on other GPUs "
        "not at all");
  if (job.conditions.cluster_cap_w > 0)
    return input_error("the job says cluster_cap: launch sets GPUs' caps alone (power_cap)");
  return {};
}

Result<void> check_layout(Framework framework, const Job& job) {
  ERGOMETER_TRY(check_launchable(job));
  switch (framework) {
    case Framework::kMegatron: {
      ERGOMETER_TRY(megatron_check(job));
      return megatron_same(job);
    }
    case Framework::kNemo: {
      ERGOMETER_TRY(nemo_check(job));
      return nemo_same(job);
    }
    case Framework::kTorchtitan: {
      ERGOMETER_TRY(torchtitan_check(job));
      return torchtitan_same(job);
    }
  }
  return {};
}

Result<void> check_model(Framework framework, const spec::Model& model) {
  switch (framework) {
    case Framework::kMegatron: ERGOMETER_TRY(megatron_model(model)); return {};
    case Framework::kNemo: return nemo_check_model(model);
    case Framework::kTorchtitan: return torchtitan_check_model(model);
  }
  return {};
}

}  // namespace ergometer::launch
