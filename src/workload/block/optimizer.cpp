#include <algorithm>
#include <string>

#include "spec/job/host_link.h"
#include "workload/shapes.h"
#include "workload/storage.h"
#include "workload/workload.h"

// Adam over the parameters whose states a rank holds, in one fused kernel per chunk of tensors. Per
// parameter it reads the gradient (4 or 2 bytes), reads and writes FP32 master, first and second
// moment (8 each) and writes the 16-bit parameter (2): 30 bytes with FP32 gradients. Gradients in
// 16 bit are first copied to FP32 (read 2, write 4) and that copy is read: 36. Where shards are
// kept in FP32 and cast before every gather (plan/sharded_units.h), they are the master: 28.
// Without a master the parameter itself is read and written (4) and the gradient read as it is (2);
// with moments in 16 bit that makes 14.
namespace ergometer::workload {
namespace {

constexpr double kChunksPerKernel = 320;     // PyTorch's multi-tensor-apply: thread blocks a launch
constexpr double kElementsPerChunk = 65536;  // and elements each of them handles
// Parameters a second that the processors of a node update: about 28 bytes each at 140 GB/s.
// Assumed; rounded after a look at the one measured offloaded step that is not bound by attention.
constexpr double kHostRate = 5e9;
constexpr double kHostCopyBytes = 2;  // of a gradient, and of a parameter
constexpr double kFp8WeightCast = 4;  // read 16 bit, write two 8-bit orientations

/// Ranks over which the optimizer states of dense and expert parameters are divided.
struct Sharding {
  double dense = 1, expert = 1;
};

Sharding state_sharding(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (p.zero_stage == 0 && !p.fsdp) return {};
  // Ranks that hold one copy: hybrid FSDP has several of them.
  const auto copy =
      static_cast<double>(p.fsdp_shard_size > 0 ? p.tp * p.fsdp_shard_size : job.stage_ranks());
  const double etp = static_cast<double>(p.etp > 0 ? p.etp : p.tp);
  return {copy / static_cast<double>(p.tp), copy / (etp * static_cast<double>(p.ep))};
}

double owned(const spec::Job& job, const ParameterShare& stage) {
  const Sharding sharding = state_sharding(job);
  return stage.trainable_dense / sharding.dense + stage.trainable_expert / sharding.expert;
}

/// Of these the weights that multiply in FP8.
double owned_narrow(const spec::Job& job, const ParameterShare& stage) {
  const Sharding sharding = state_sharding(job);
  return stage.trainable_narrow_dense / sharding.dense +
         stage.trainable_narrow_expert / sharding.expert;
}

Operator memory_operator(const spec::Job& job, std::string name, double bytes, double elements) {
  Operator op;
  op.kind = OperatorKind::kMemory;
  op.pass = Pass::kOptimizer;
  op.module = Module::kOptimizer;
  op.name = std::move(name);
  op.precision = shapes_of(job).precision;
  op.bytes = bytes;
  op.kernels = 1 + static_cast<int>(elements / (kChunksPerKernel * kElementsPerChunk));
  return op;
}

/// Main gradients that a rank holds: whole ones, or its shard from ZeRO stage 2 on.
double gradient_elements(const spec::Job& job, const ParameterShare& stage) {
  if (job.parallelism.shards_gradients()) return owned(job, stage);
  return stage.trainable_dense + stage.trainable_expert;
}

/// Adam on the host, which the memory of the node's processors bounds, or the gradients' way there
/// beside the parameters' way back, both in 16 bit, where the GPUs below a PCIe switch share a
/// narrow link. Worked: 1e9 parameters on each of 8 ranks are 1.6 s of updates; of 2 GB each way at
/// 1 GB/s 2 s.
Operator host_step(const spec::Job& job, double elements) {
  Operator op = memory_operator(job, "host_adam", 0, 0);
  const double rate = job.software.parameters.value_or("optimizer.host_rate", kHostRate);
  const auto ranks = static_cast<double>(std::min<int64_t>(job.gpus, job.cluster.node.gpus));
  op.kernels = 0;
  op.to_host_bytes = op.from_host_bytes = kHostCopyBytes * elements;
  op.host_wait_s =
      std::max(elements * ranks / rate, op.to_host_bytes / spec::host_bytes_per_s(job.cluster));
  return op;
}

/// Whether the optimizer also writes parameters as they compute, in 16 bit or less.
bool writes_computing_parameters(const spec::Job& job) {
  return job.training.precision != spec::Precision::kFp32 && !job.training.autocast &&
         !(job.parallelism.shards_parameters() && job.software.parameters.has("fsdp.shard_copies"));
}

/// Bytes of an update that are of a parameter: its master and the copy that computes, or itself.
double parameter_traffic(const spec::Job& job) {
  if (!job.training.master_weights) return 2 + 2;
  if (job.training.master_remainders) return 2 * 2 + 2 * 2;  // both halves, read and written
  return 4 + 4 + (writes_computing_parameters(job) ? 2 : 0);
}

/// What a weight that is kept in FP8 takes less, written in 8 bit.
double saved_writing(const spec::Job& job) {
  const spec::Training& training = job.training;
  const bool writes = training.master_weights && !training.master_remainders;
  return writes && writes_computing_parameters(job) && sends_fp8_parameters(training) ? 1 : 0;
}

double gradient_traffic(const spec::Training& training) {
  if (training.gradients_fp32) return 4;
  return training.master_weights ? 2 + 4 + 4 : 2;
}

}  // namespace

Operator optimizer_step(const spec::Job& job, const ParameterShare& stage) {
  const double moments = 2 * 2 * moment_bytes(job.training.moments);  // two, read and written
  const double elements = owned(job, stage);
  const double passes = job.software.parameters.value_or("optimizer.factor", 1);
  double bytes =
      passes * (elements * (moments + gradient_traffic(job.training) + parameter_traffic(job)) -
                owned_narrow(job, stage) * saved_writing(job));
  // Unless they are sent in FP8 the weights that multiply in it are quantized once a step and kept
  // for all micro batches; LoRA's frozen ones never change and its adapters stay in 16 bit.
  const bool narrow = job.training.precision == spec::Precision::kFp8 ||
                      job.training.precision == spec::Precision::kNvfp4;
  if (narrow && !sends_fp8_parameters(job.training) && job.training.mode != spec::Mode::kLora &&
      !job.parallelism.shards_parameters())
    bytes += (stage.trainable_narrow_dense + stage.trainable_narrow_expert) * kFp8WeightCast;
  if (job.training.optimizer_offload) return host_step(job, elements);
  return memory_operator(job, "adam", bytes, elements);
}

Operator gradient_norm(const spec::Job& job, const ParameterShare& stage) {
  const double elements = owned(job, stage);
  return memory_operator(job, "gradient_norm", elements * (job.training.gradients_fp32 ? 4 : 2),
                         elements);
}

Operator clip_gradients(const spec::Job& job, const ParameterShare& stage) {
  const double passes = job.software.parameters.value_or("optimizer.clip_copies", 0);
  const double elements = owned(job, stage);
  return memory_operator(job, "gradient_clip",
                         passes * elements * (job.training.gradients_fp32 ? 4 : 2), elements);
}

bool keeps_gradient_buffers(const spec::Training& training) {
  return training.framework != spec::Framework::kTorchFsdp;
}

Operator zero_gradients(const spec::Job& job, const ParameterShare& stage) {
  const double elements = gradient_elements(job, stage);
  return memory_operator(job, "zero_gradients", elements * (job.training.gradients_fp32 ? 4 : 2),
                         elements);
}

}  // namespace ergometer::workload
