#pragma once

#include <cstdint>
#include <vector>

#include "optimize/stage_tables.h"
#include "optimize/time_cost.h"

namespace ergometer::optimize {

/// One pass of a stage in a step.
struct PipelinePass {
  int64_t stage = 0;
  spec::ScheduleSlot slot;
  bool backward() const { return slot.kind != spec::SlotKind::kForward; }
};

/// A step of `micro_batches` in the order of the tables' schedule as a graph of time against cost,
/// a pass's cost being its energy beyond what its GPUs would draw waiting (Perseus, arXiv
/// 2312.06902). Work i of the graph is `passes[i]`; stage by stage, in the order it runs.
TimeCostGraph pipeline_graph(const PipelineTables& tables, int64_t micro_batches,
                             std::vector<PipelinePass>& passes);

/// One schedule of clocks: no schedule that is as quick takes less energy.
struct FrontierPoint {
  double time_s = 0;    ///< of all micro batches, without what begins and ends a step
  double energy_j = 0;  ///< of all GPUs over that time
  /// Seconds of every pass of `PipelineFrontier::passes`.
  std::vector<double> pass_s;
};

struct PipelineFrontier {
  std::vector<PipelinePass> passes;   ///< of `micro_batches`
  int64_t micro_batches = 0;          ///< looked at; of a long step fewer than it has
  std::vector<FrontierPoint> points;  ///< from the slowest, of least energy, to the quickest
};

/// The whole frontier, exact but for `TradeOffOptions`. A step with very many passes is not looked
/// at whole: two shorter steps at the same price of time tell its length and energy, both being
/// linear in the number of micro batches behind the warm-up. An input error where even that is more
/// than can be solved.
Result<PipelineFrontier> pipeline_frontier(const PipelineTables& tables,
                                           const TradeOffOptions& options = {});

/// Energy of all GPUs when passes last `pass_s` and the step `length_s`, with clocks of the
/// lattice: each pass runs at the lowest clock that is quick enough. `clocks_hz`: by pass, filled.
double lattice_energy(const PipelineTables& tables, const std::vector<PipelinePass>& passes,
                      const std::vector<double>& pass_s, double length_s,
                      std::vector<double>& clocks_hz);

/// The pass times of a point, moved to times of lattice clocks: first down to what is quick enough,
/// then up again where that fits into the point's length and saves most.
std::vector<double> on_lattice(const PipelineTables& tables, const TimeCostGraph& graph,
                               const std::vector<PipelinePass>& passes,
                               const std::vector<double>& pass_s, double length_s);

}  // namespace ergometer::optimize
