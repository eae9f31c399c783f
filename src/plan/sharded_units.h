#pragma once

#include <cstdint>
#include <vector>

#include "plan/stages.h"
#include "plan/writer.h"

namespace ergometer::plan {

/// Fully sharded data parallelism (ZeRO-3, FSDP) on one stage: every block is a unit. Its
/// parameters are gathered before its forward and again before its backward in every micro batch,
/// the next unit's while this one computes; its gradients are reduced and scattered behind its
/// backward. Hybrid sharding gathers and scatters inside one shard group and, behind the last micro
/// batch, sums the shards over the replicas. Expert parameters are sharded over their own replicas.
/// ZeRO-2 scatters in the same way, under Megatron's names, and gathers nothing here.
///
/// Gathered parameters are copied out of the buffer they arrived in and gradients into the one they
/// leave from, beside other kernels' traffic on the compute stream: `fsdp.gather_copies` and
/// `fsdp.scatter_copies` bytes for every byte gathered or scattered, by the framework. FP8 weights
/// that are not gathered in FP8 are quantized behind every gather.
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
  double copied_out_bytes(const workload::ParameterShare& share) const;
  void issue(const std::vector<int32_t>& collectives);
  Unit& unit(size_t chunk, size_t index) { return units_[chunk][index]; }

  const spec::Job& job_;
  OperatorTable& operators_;
  ProgramWriter& writer_;
  bool reduces_ = false;
  std::vector<std::vector<Unit>> units_;  ///< [chunk][block]
};

}  // namespace ergometer::plan
