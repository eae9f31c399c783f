#pragma once

#include <vector>

#include "cost/cost.h"
#include "cost/energy.h"
#include "plan/stages.h"
#include "search/overlap/block_costs.h"
#include "search/overlap/link_demand.h"

namespace ergometer::search {

/// What data parallelism and the end of the step cost the ranks of one stage.
struct DataCosts {
  /// A bucket of Megatron's buffers: sent whole when block `lowest` of its chunk is done, or before
  /// that block needs its parameters.
  struct Bucket {
    size_t lowest = 0;
    double reduce_s = 0, gather_s = 0;
    /// On the compute stream, of what makes gradients smaller before they are reduced; how much
    /// longer it takes beside a collective, and that beside it.
    double pack_s = 0, pack_slow = 1, pack_slows = 1, pack_host_s = 0;
  };
  /// A block of sharded parameters or gradients, sent in every micro batch.
  struct Unit {
    double gather_s = 0, scatter_s = 0;
    double copy_out_s = 0, copy_in_s = 0;  ///< on the compute stream
    /// How much longer copies take beside the collectives, and those beside copies.
    double copy_slow = 1, copy_slows = 1;
    double gather_host_s = 0, scatter_host_s = 0;  ///< to launch either, with its copies
  };
  std::vector<std::vector<Bucket>> buckets;  ///< [chunk], as Megatron issues them; if overlapped
  std::vector<std::vector<Unit>> units;      ///< [chunk][block]; empty below ZeRO-2
  LinkDemand unit_demand;                    ///< of what units scatter, in the mean
  double last_sums_s = 0;  ///< of the last micro batch: sums of hybrid copies, copies of no_sync

  double begin_s = 0;        ///< before the first forward: gradients set to zero
  double before_norm_s = 0;  ///< from the last backward to where all stages meet
  double norm_s = 0;         ///< where they meet
  double after_norm_s = 0;
  physics::Energy step_energy;         ///< of all but the units
  physics::Energy micro_batch_energy;  ///< of the units, for each micro batch
};

/// `job`: a candidate; its stage `stage_index` is `stage`. `energy`: may be null.
DataCosts data_costs(const spec::Job& job, const workload::Workload& workload,
                     const plan::Stage& stage, int64_t stage_index, const cost::CostModel& model,
                     const cost::EnergyModel* energy, const Placements& placements);

}  // namespace ergometer::search
