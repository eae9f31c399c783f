#pragma once

#include <map>
#include <span>
#include <vector>

#include "search/division.h"
#include "search/pipeline.h"
#include "search/shared_pipeline.h"

namespace ergometer::search {

/// When the stages of a pipeline have done all their slots, seconds from the step's start, by lane
/// of the batch.
struct PipelineEnds {
  std::vector<Batch> by_kind;  ///< [stage kind of the division]: the latest of that kind
};

/// Plays pipelines slot by slot, short ones in place of long ones.
///
/// Behind its warm-up a step grows by the same time with every group of micro batches, and a
/// pipeline whose inner stages are alike with every further stage: with m micro batches on p stages
///
///   t(p, m) = t(p0, m0) + (m - m0) dt/dm + (p - p0) dt/dp,
///
/// the differences taken between short pipelines. Steps of fewer micro batches than stages and
/// stages that differ inside are played as they are, but for the micro batches in excess.
class PipelineTimes {
 public:
  /// `shape.micro_batches` and `shape.stages`: the job's. `scatters`: slots have pieces. `sharing`:
  /// plays `lane` alone, event by event, with what it shares; null: plays all.
  void find(const spec::Job& job, const PipelineShape& shape, const Division& division,
            std::span<const ChunkCosts> chunk_costs, std::span<const TransferCost> next,
            bool scatters, const PipelineDemands* sharing, size_t lane, PipelineEnds& ends);

 private:
  const PipelineScript& script(const spec::Job& job, const PipelineShape& shape);
  void play_short(const spec::Job& job, PipelineShape shape, const Division& division,
                  std::span<const ChunkCosts> chunk_costs, std::span<const TransferCost> next,
                  PipelineEnds& ends);
  void play_script(const PipelineScript& script);

  std::map<PipelineShape, PipelineScript> scripts_;
  size_t steps_ = 0;  ///< of all scripts kept
  std::vector<const ChunkCosts*> costs_;
  std::vector<TransferCost> next_;
  std::vector<Batch> stage_ends_;
  bool scatters_ = false;
  const PipelineDemands* sharing_ = nullptr;
  size_t lane_ = 0;
  PipelineDemands demands_;
  std::vector<double> lane_ends_;
  PipelineEnds short_ends_[3];
};

}  // namespace ergometer::search
