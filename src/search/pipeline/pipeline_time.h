#pragma once

#include <map>
#include <span>
#include <vector>

#include "search/pipeline/division.h"
#include "search/pipeline/pipeline.h"
#include "search/pipeline/shared_pipeline.h"

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
///
/// With interleaving every further chunk is another slot of every micro batch on every stage, so
/// its share grows with both, dm dv being that of a further chunk of further micro batches:
///
///   t(p, m, v) = t(p, m, v0) + (v - v0) p / p0 (dt/dv + (m p0 / p - m0) d2t/dm dv).
///
/// Where kernels wait for their host that is not so: a long first or last chunk gives the host a
/// lead that lasts for some chunks, not for all. Nor is it where overlapped transfers take longer
/// than the slots beside them. There all chunks are played.
class PipelineTimes {
 public:
  /// `shape.micro_batches` and `shape.stages`: the job's. `scatters`: slots have pieces. `sharing`:
  /// plays `lane` alone, event by event, with what it shares; null: plays all.
  void find(const spec::Job& job, const PipelineShape& shape, const Division& division,
            std::span<const ChunkCosts> chunk_costs, std::span<const TransferCost> next,
            bool scatters, const PipelineDemands* sharing, size_t lane, PipelineEnds& ends);

 private:
  const PipelineScript& script(const PipelineShape& shape);
  void extrapolate(const PipelineShape& shape, bool fewer_chunks, PipelineEnds& ends);
  void play_short(const PipelineShape& shape, PipelineEnds& ends);
  void play_script(const PipelineScript& script);

  std::map<PipelineShape, PipelineScript> scripts_;
  size_t steps_ = 0;  ///< of all scripts kept
  // Of the job in question.
  const spec::Job* job_ = nullptr;
  const Division* division_ = nullptr;
  std::span<const ChunkCosts> chunk_costs_;
  std::span<const TransferCost> transfers_;
  bool scatters_ = false;
  const PipelineDemands* sharing_ = nullptr;
  size_t lane_ = 0;
  // Of the short pipeline that is played.
  std::vector<const ChunkCosts*> costs_;
  std::vector<TransferCost> next_;
  std::vector<Batch> stage_ends_;
  PipelineDemands demands_;
  std::vector<double> lane_ends_;
  PipelineEnds base_, more_batches_, more_stages_, more_chunks_, more_both_, all_chunks_;
};

}  // namespace ergometer::search
