#pragma once

#include <cstdint>
#include <vector>

#include "plan/stages.h"
#include "plan/writer.h"

namespace ergometer::plan {

/// Fully sharded data parallelism (ZeRO-3, FSDP) on one stage: every block is a unit. Its
/// parameters are gathered before its forward and again before its backward, where it has one, in
/// every micro batch, the next unit's while this one computes; its gradients are reduced and
/// scattered behind its backward. Hybrid sharding gathers and scatters inside one shard group and
/// then sums the shards over the replicas: PyTorch in every micro batch (unless
/// set_requires_all_reduce says otherwise), Megatron-FSDP and DeepSpeed's MiCS in the last. Expert
/// parameters are sharded over their own replicas. ZeRO-2 scatters in the same way, under
/// Megatron's names, and gathers nothing here.
///
/// Copies, by the framework, as kernels of the compute stream. Before a gather a rank's shard,
/// which PyTorch keeps in FP32, is cast to what is sent and copied into the gather's buffer
/// (`fsdp.shard_copies`); behind it parameters are copied out of that buffer
/// (`fsdp.gather_copies`). Gradients are copied into the buffer they leave from
/// (`fsdp.scatter_copies`). A single rank sends nothing: its shard is copied to where parameters
/// are used, and gradients once more to where the sums would arrive (tests/data/h100, kernel by
/// kernel). FP8 weights that are not gathered in FP8 are quantized behind every gather. Not
/// counted: adding the sums of later micro batches to the shard, 12 bytes a parameter of it. Where
/// only the last micro batch reduces (PyTorch's no_sync) whole gradients are added up beside the
/// products (workload/block/linear.h).
class ShardedUnits {
 public:
  ShardedUnits(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
               OperatorTable& operators, ProgramWriter& writer);

  /// Issues the gather of block `index`, where it has one.
  void gather(size_t chunk, size_t index);
  /// The compute stream waits for that gather.
  void wait(size_t chunk, size_t index);
  /// Reduces the gradients of block `index`; `last` in the step's last micro batch.
  void reduce(size_t chunk, size_t index, bool last);
  /// Before the gradients are read.
  void finish_gradients();

 private:
  struct Unit {
    int32_t event = -1;
    std::vector<int32_t> gathers, scatters, replica_sums;
    int32_t copy_out = -1, copy_in = -1;  ///< -1: nothing is copied
  };
  Unit make_unit(const workload::ParameterShare& share);
  int32_t make_copy(const char* name, workload::Pass pass, double bytes);
  int64_t ranks(bool expert) const;
  double unit_bytes(const workload::ParameterShare& share, bool expert) const;
  double shard_bytes(double bytes, double trainable, double narrow) const;
  double copied_out_bytes(const workload::ParameterShare& share) const;
  double copied_in_bytes(const workload::ParameterShare& share) const;
  void issue(const std::vector<int32_t>& collectives);
  Unit& unit(size_t chunk, size_t index) { return units_[chunk][index]; }

  const spec::Job& job_;
  OperatorTable& operators_;
  ProgramWriter& writer_;
  bool reduces_ = false;
  std::vector<std::vector<Unit>> units_;  ///< [chunk][block]
};

}  // namespace ergometer::plan
