#pragma once

#include <array>
#include <memory>
#include <vector>

#include "cost/cost.h"
#include "cost/energy.h"
#include "plan/placement.h"
#include "search/overlap/link_demand.h"
#include "search/overlap/max_plus.h"
#include "spec/job/job.h"
#include "workload/workload.h"

namespace ergometer::search {

/// What a pass runs up to an exchange between experts, and the exchange, while another micro batch
/// takes turns with it: the exchange's larger part goes beside whatever comes next.
struct PairedPart {
  double alone_s = 0;             ///< on the compute stream
  double slow = 1, slows = 1;     ///< it beside an exchange, and that beside it
  double hidden_s = 0;            ///< of the exchange, on the experts' stream; 0: none follows
  double open_s = 0, shared = 1;  ///< of it in line, and how much longer beside an exchange
};

/// One pass of a block over one micro batch on one rank.
struct PassCost {
  MaxPlus time;
  double compute_s = 0;  ///< of it, kernels on the compute stream
  double clocked_s = 0;  ///< of it, what follows the GPU's clock
  double expert_s = 0;   ///< of it, exchanges between experts in line
  /// Where there are any: the pass with only their open parts, and its parts.
  MaxPlus paired_time;
  std::vector<PairedPart> paired;
  MaxPlus beside_data;    ///< the pass beside data parallelism's collectives from begin to end
  double slow_data = 1;   ///< how much longer it takes beside data parallelism's collectives
  double slows_data = 1;  ///< how much longer those then take
  /// The same beside a pipeline transfer to a neighbour inside the domain, and to one outside.
  std::array<double, 2> slow_transfer = {1, 1}, slows_transfer = {1, 1};
  physics::Energy energy;
};

struct BlockCost {
  PassCost forward, recompute;
  PassCost backward;                 ///< of inputs and weights together
  PassCost input_grad, weight_grad;  ///< apart, for zero-bubble schedules
};

/// Passes of so many equal blocks in a row.
struct BlockRow {
  MaxPlus forward, weight_grad;
  std::array<MaxPlus, 2> backward, input_grad;  ///< [1]: recomputed before
};

/// What every block of a job costs on one rank: the operators, prices and contention of the engine,
/// summed once for all candidates that share them.
struct BlockCosts {
  std::shared_ptr<const workload::Workload> workload;  ///< whose memory need not know a price
  std::vector<BlockCost> blocks;                       ///< as in the workload
  /// By block and number of them; as many as were asked for.
  std::vector<std::vector<BlockRow>> rows;
  const BlockRow& row(size_t block, size_t count) {
    if (rows[block].size() <= count) add_rows(block, count);
    return rows[block][count];
  }
  void add_rows(size_t block, size_t count);
  LinkDemand exchange;  ///< of exchanges between experts
};

/// Where the groups lie that blocks talk in, by `workload::GroupKind`.
using Placements = std::vector<plan::GroupPlacement>;
const plan::GroupPlacement& where(const Placements& placements, const workload::Operator& op);

/// `job`: any candidate; only what blocks see of it matters. `energy`: may be null. `data`: what
/// data parallelism's collectives ask for. `stretch`: how contention stretches every operator;
/// found where it is empty, and the same for all `data`. `workload`: the job's.
BlockCosts block_costs(std::shared_ptr<const workload::Workload> workload, const spec::Job& job,
                       const cost::CostModel& model, const cost::EnergyModel* energy,
                       const Placements& placements, const LinkDemand& data,
                       std::vector<double>& stretch);

}  // namespace ergometer::search
