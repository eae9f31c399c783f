#include "plan/sharded_units.h"

#include "plan/data_parallel.h"
#include "plan/placement.h"

namespace ergometer::plan {

using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

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

ShardedUnits::Unit ShardedUnits::make_unit(const workload::ParameterShare& share) {
  Unit unit;
  const double gradient = gradient_bytes(job_.training), parameter = parameter_bytes(job_.training);
  const auto add = [&](std::vector<int32_t>& to, const char* name, CollectiveKind kind,
                       GroupKind group, double elements, double bytes) {
    if (elements == 0 || rank_group(job_, group).size == 1) return;
    to.push_back(operators_.add(data_collective(name, kind, group, elements, bytes)));
  };
  if (fully_sharded(job_)) {
    add(unit.gathers, "fsdp_all_gather", CollectiveKind::kAllGather, GroupKind::kShard, share.dense,
        parameter);
    add(unit.gathers, "fsdp_expert_all_gather", CollectiveKind::kAllGather, GroupKind::kExpertData,
        share.expert, parameter);
  }
  add(unit.scatters, "fsdp_reduce_scatter", CollectiveKind::kReduceScatter, GroupKind::kShard,
      share.trainable_dense, gradient);
  add(unit.scatters, "fsdp_expert_reduce_scatter", CollectiveKind::kReduceScatter,
      GroupKind::kExpertData, share.trainable_expert, gradient);
  const auto shards = static_cast<double>(rank_group(job_, GroupKind::kShard).size);
  add(unit.replica_sums, "fsdp_replica_all_reduce", CollectiveKind::kAllReduce, GroupKind::kReplica,
      share.trainable_dense / shards, gradient);
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
  if (!reduces_ || unit(chunk, index).gathers.empty()) return;
  writer_.wait(Stream::kCompute, unit(chunk, index).event, unit(chunk, index).gathers.back());
}

void ShardedUnits::reduce(size_t chunk, size_t index, bool last) {
  if (!reduces_) return;
  issue(unit(chunk, index).scatters);
  if (last) issue(unit(chunk, index).replica_sums);
}

void ShardedUnits::finish_gradients() {
  if (reduces_) writer_.join(Stream::kCompute, Stream::kData);
}

}  // namespace ergometer::plan
