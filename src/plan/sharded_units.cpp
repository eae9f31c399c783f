#include "plan/sharded_units.h"

#include "plan/data_parallel.h"
#include "plan/placement.h"
#include "workload/shapes.h"
#include "workload/storage.h"

namespace ergometer::plan {

using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

namespace {
constexpr double kWide = 4;  ///< bytes of a parameter in FP32
}

ShardedUnits::ShardedUnits(const spec::Job& job, const workload::Workload& workload,
                           const Stage& stage, OperatorTable& operators, ProgramWriter& writer)
    : job_(job), operators_(operators), writer_(writer) {
  if (!reduces_every_micro_batch(job)) return;
  reduces_ = true;
  for (const Chunk& chunk : stage.chunks) {
    units_.emplace_back();
    for (const int block : chunk.blocks) {
      units_.back().push_back(make_unit(workload.blocks[static_cast<size_t>(block)].parameters));
    }
  }
}

int32_t ShardedUnits::make_copy(const char* name, workload::Pass pass, double bytes) {
  if (bytes == 0) return -1;
  workload::Operator op;
  op.kind = workload::OperatorKind::kMemory;
  op.module = workload::Module::kData;
  op.pass = pass;
  op.precision = spec::Precision::kBf16;
  op.name = name;
  op.bytes = bytes;
  op.kernels = 2;
  return operators_.add(op);
}

/// That a unit's parameters are divided over.
int64_t ShardedUnits::ranks(bool expert) const {
  return rank_group(job_, expert ? GroupKind::kExpertData : GroupKind::kShard).size;
}

/// Of a rank's shard before a gather: the cast of what is trained from FP32 (frozen parameters are
/// kept as they are sent), and copies. Nothing where the optimizer writes what is sent.
double ShardedUnits::shard_bytes(double bytes, double trainable, double narrow) const {
  const base::Parameter* copies = job_.software.parameters.find("fsdp.shard_copies");
  if (copies == nullptr) return 0;
  const bool casts = parameter_bytes(job_.training) < kWide && job_.training.master_weights;
  const double cast = kWide * trainable + sent_bytes(job_.training, trainable, narrow);
  return (casts ? cast : 0) + copies->value * bytes;
}

/// Of a unit's parameters as they are sent: quantized ones as they are kept.
double ShardedUnits::unit_bytes(const workload::ParameterShare& share, bool expert) const {
  const double elements = expert ? share.expert : share.dense;
  const double narrow = expert ? share.narrow_expert : share.narrow_dense;
  const double quantized = expert ? share.quantized_expert : share.quantized_dense;
  const double saved =
      parameter_bytes(job_.training) - workload::frozen_weight_bytes(job_.training.quantize);
  return sent_bytes(job_.training, elements, narrow) - saved * quantized;
}

double ShardedUnits::copied_out_bytes(const workload::ParameterShare& share) const {
  constexpr double kQuantizing = 4;  // reads 16 bit, writes both orientations in 8 bit
  const spec::Training& training = job_.training;
  const bool narrow = training.precision != spec::Precision::kFp32 &&
                      training.precision != spec::Precision::kFp16 &&
                      training.precision != spec::Precision::kBf16;
  const bool quantizes =
      narrow && !workload::sends_fp8_parameters(training) && training.mode != spec::Mode::kLora;
  const double copies = job_.software.parameters.value_or("fsdp.gather_copies", 0);
  double bytes = (quantizes ? kQuantizing : 0) * (share.narrow_dense + share.narrow_expert);
  for (const bool expert : {false, true}) {
    const double sent = unit_bytes(share, expert);
    const double trainable = expert ? share.trainable_expert : share.trainable_dense;
    const double narrow_trained =
        expert ? share.trainable_narrow_expert : share.trainable_narrow_dense;
    const auto n = static_cast<double>(ranks(expert));
    if (n > 1) bytes += copies * sent;
    bytes += shard_bytes(sent / n, trainable / n, narrow_trained / n);
  }
  return bytes;
}

double ShardedUnits::copied_in_bytes(const workload::ParameterShare& share) const {
  constexpr double kToSums = 2;  // read and written once more
  const double copies = job_.software.parameters.value_or("fsdp.scatter_copies", 0);
  if (copies == 0) return 0;
  const auto passes = [&](bool expert) { return copies + (ranks(expert) == 1 ? kToSums : 0); };
  return gradient_bytes(job_.training) *
         (passes(false) * share.trainable_dense + passes(true) * share.trainable_expert);
}

ShardedUnits::Unit ShardedUnits::make_unit(const workload::ParameterShare& share) {
  Unit unit;
  const double gradient = gradient_bytes(job_.training);
  const auto add = [&](std::vector<int32_t>& to, const char* name, CollectiveKind kind,
                       GroupKind group, double elements, double bytes) {
    if (elements == 0 || rank_group(job_, group).size == 1) return;
    to.push_back(operators_.add(data_collective(name, kind, group, elements, bytes)));
  };
  if (job_.parallelism.shards_parameters()) {
    add(unit.gathers, "fsdp_all_gather", CollectiveKind::kAllGather, GroupKind::kShard, share.dense,
        unit_bytes(share, false) / share.dense);
    add(unit.gathers, "fsdp_expert_all_gather", CollectiveKind::kAllGather, GroupKind::kExpertData,
        share.expert, unit_bytes(share, true) / share.expert);
  }
  const bool whole = job_.parallelism.shards_parameters();
  add(unit.scatters, whole ? "fsdp_reduce_scatter" : "grad_reduce_scatter",
      CollectiveKind::kReduceScatter, GroupKind::kShard, share.trainable_dense, gradient);
  add(unit.scatters, whole ? "fsdp_expert_reduce_scatter" : "expert_grad_reduce_scatter",
      CollectiveKind::kReduceScatter, GroupKind::kExpertData, share.trainable_expert, gradient);
  if (whole)
    unit.copy_out = make_copy("fsdp_copy_out", workload::Pass::kForward, copied_out_bytes(share));
  if (whole || !unit.scatters.empty())
    unit.copy_in = make_copy("fsdp_copy_in", workload::Pass::kBackward, copied_in_bytes(share));
  add(unit.replica_sums, "fsdp_replica_all_reduce", CollectiveKind::kAllReduce, GroupKind::kReplica,
      share.trainable_dense / static_cast<double>(ranks(false)), gradient);
  add(unit.replica_sums, "fsdp_expert_replica_all_reduce", CollectiveKind::kAllReduce,
      GroupKind::kReplica, share.trainable_expert / static_cast<double>(ranks(true)), gradient);
  if (!unit.gathers.empty()) unit.event = writer_.new_event();
  return unit;
}

void ShardedUnits::issue(const std::vector<int32_t>& collectives) {
  if (collectives.empty()) return;
  writer_.join(Stream::kData, Stream::kCompute);
  for (const int32_t collective : collectives) writer_.op(Stream::kData, collective);
}

void ShardedUnits::gather(size_t chunk, size_t index) {
  if (!reduces_ || unit(chunk, index).gathers.empty()) return;
  issue(unit(chunk, index).gathers);
  writer_.record(Stream::kData, unit(chunk, index).event);
}

void ShardedUnits::wait(size_t chunk, size_t index) {
  if (!reduces_) return;
  const Unit& it = unit(chunk, index);
  if (!it.gathers.empty()) writer_.wait(Stream::kCompute, it.event, it.gathers.back());
  if (it.copy_out >= 0) writer_.op(Stream::kCompute, it.copy_out);
}

void ShardedUnits::reduce(size_t chunk, size_t index, bool last) {
  if (!reduces_ || (!last && adds_whole_gradients(job_))) return;
  if (unit(chunk, index).copy_in >= 0) writer_.op(Stream::kCompute, unit(chunk, index).copy_in);
  issue(unit(chunk, index).scatters);
  if (last || job_.training.framework == spec::Framework::kTorchFsdp)
    issue(unit(chunk, index).replica_sums);
}

void ShardedUnits::finish_gradients() {
  if (reduces_) writer_.join(Stream::kCompute, Stream::kData);
}

}  // namespace ergometer::plan
