#pragma once

#include <span>
#include <vector>

#include "search/overlap/link_demand.h"
#include "search/pipeline/pipeline.h"

namespace ergometer::search {

/// What is at work beside a stage's slots asks for, while it is alone.
struct PipelineDemands {
  /// By stage: of a forward to the following one, and of a backward from there.
  std::vector<std::array<LinkDemand, 2>> transfers;
  LinkDemand gradients;  ///< of what slots scatter
  /// Of a network's line one direction is for what is sent and one for what is received; otherwise
  /// those are the stages' own, as every demand has them.
  bool lines_are_of_ends = true;
};

/// As `play`, for one lane of the costs, with the engine's contention: on every stage its slots,
/// the transfers on both lanes and the gradients that are scattered proceed together, each at the
/// rate that its part of the GPU and max-min fair shares of the links allow:
///
///   a slot beside n transfers: 1 / (1 + n (slow_transfer - 1) + g (slow_data - 1)),
///
/// g being 1 while gradients are sent, else 0;
///
///   a transfer beside a slot: fair share / slows_transfer, gradients: fair share / slows_data.
///
/// A row of events in time order, exact for costs that are even over a slot; some twenty times
/// slower than `play`, whose slots go in program order. `ends`: by stage.
void play_sharing(const PipelineScript& script, std::span<const ChunkCosts* const> costs,
                  std::span<const TransferCost> next, const PipelineDemands& demands, size_t lane,
                  std::vector<double>& ends);

}  // namespace ergometer::search
