#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "search/estimate/anchors.h"
#include "search/estimate/layout_memory.h"
#include "search/estimate/parts.h"
#include "search/estimate/power_estimate.h"
#include "search/overlap/data_costs.h"
#include "search/overlap/two_lanes.h"
#include "search/pipeline/pipeline_time.h"

namespace ergometer::search {

/// What the closed form says of a candidate.
struct Estimate {
  double step_s = 0;
  double energy_j = 0;  ///< of the cluster, for one step; 0: nothing is known of its power
  double gpu_w = 0, max_gpu_c = 0;
  double memory_bytes = 0;  ///< of the stage that needs most, as `plan::memory` says it
};

/// What no candidate of a pass can go below, whatever else its data option says.
struct LeastCost {
  /// Kernels of one stage, and a micro batch's way to it and back; or the gradients one scatters.
  double step_s = 0;
  double blocks_s = 0;  ///< the same without gradients
  double energy_j = 0;  ///< of the cluster; 0: nothing is known of its power
};

/// Estimates candidates of one layout after the other. See docs/models/search.md for the formulas.
///
///   estimator.set_layout(layout);
///   if (estimator.fits(overlap, recomputation, data)) ...  // needs no passes
///   estimator.set_passes(variants);
///   estimator.estimate(i, data);                           // of variant i
///
/// Of many recomputations a few are played, and the others' times lie between theirs (`Anchors`):
/// an estimate depends on the variants that it is asked for with.
class Estimator {
 public:
  explicit Estimator(const Space& space);

  /// An error: the catalog cannot price this layout.
  Result<void> set_layout(const Layout& layout);
  /// All played alike (`played_alike`).
  void set_passes(std::span<const PassVariant> variants);

  bool fits(const Overlap& overlap, const Recomputation& recomputation, const DataOption& data) {
    return memory_.fits(overlap, recomputation, data);
  }
  /// Of the fullest stage with what the allocator reserves, and what a GPU has for both.
  double needed_bytes(const Overlap& overlap, const Recomputation& recomputation,
                      const DataOption& data) {
    return memory_.needed(overlap, recomputation, data.sharding);
  }
  double capacity_bytes() const { return memory_.capacity(); }
  bool blocks_stay_in_domain() const;
  double memory_bytes(size_t pass, const DataOption& data) {
    return memory_.bytes(variants_[pass].overlap, variants_[pass].recomputation, data.sharding);
  }
  LeastCost least(size_t pass, Sharding sharding);
  Estimate estimate(size_t pass, const DataOption& data);
  /// All in one: for a single candidate.
  Result<Estimate> estimate(const Candidate& candidate);

 private:
  /// A chunk's passes over one micro batch, sums over its blocks.
  struct ChunkPass {
    MaxPlus forward, backward, input_grad, weight_grad;
    double expert_forward_s = 0, expert_backward_s = 0;
    double compute_s = 0, clocked_s = 0;
    double slow_transfer = 1, slows_transfer = 1;
    physics::Energy energy;
  };
  /// Overlapped gradients, by stage kind: what they add to the stage's last backwards, and what is
  /// still to be sent behind them.
  struct Reduced {
    bool ready = false;
    std::vector<double> slow_s, left_s;
  };
  /// What is known of a variant.
  struct Pass {
    Candidate candidate;
    BlockCosts* blocks = nullptr;
    const Division* division = nullptr;
    std::vector<ChunkPass> chunks;       ///< by chunk kind
    physics::Energy micro_batch_energy;  ///< mean over stages
    double most_work = 1;                ///< joules of the stage that works most, over the mean
    double clocked_s = 0;                ///< in a step, of the stage that has most
    double slack_s = 0;                  ///< in a step, for which that stage waits for its host
    double least_s = 0;                  ///< kernels in a step, and the way to their stage
  };
  /// A micro batch on all chunks of a stage.
  struct StageSums {
    double busy_s = 0, first_chunk_s = 0;  ///< kernels
    double clocked_s = 0, slack_s = 0;
    double host_s = 0, tail_s = 0;  ///< launches, and those behind a pass's last kernel
    physics::Energy energy;
  };
  static DataOption option_of(Family family);  ///< any of the family's
  /// A pass for each variant.
  struct PassSet {
    bool filled = false;
    std::vector<Pass> passes;
  };
  /// By stage kind: when its slots are done, and how long what is still to be sent then takes.
  struct PassTimes {
    bool ready = false;
    std::vector<double> ends_s, left_s;
    std::array<Reduced, 2> reduced;  ///< ZeRO 0 and 1
  };
  /// What the slots of anchors cost that are played side by side.
  struct LaneGroup {
    bool filled = false;
    std::vector<ChunkCosts> costs;           ///< by chunk kind
    std::vector<std::vector<Piece>> pieces;  ///< by chunk kind, that `costs` shows
  };
  struct FamilyTimes {
    bool ready = false;
    Anchors anchors;
    std::vector<PassTimes> played;  ///< by anchor
    std::vector<LaneGroup> groups;  ///< of kLanes anchors each
    PassTimes between;              ///< of the pass asked for last
  };
  struct SavedData {
    DataOption option;
    std::vector<DataCosts> by_kind;  ///< by stage kind
    physics::Energy energy;          ///< of a step, mean over stages, without units
    physics::Energy unit_energy;     ///< of a micro batch
  };

  Pass& pass(size_t i, Family family);
  const Ranks& ranks_of(Sharding sharding) const {
    return sharding == Sharding::kFsdp ? *fsdp_ranks_ : *ranks_;
  }
  /// Stages make weights' gradients when they have sent those of their input.
  bool weights_apart() const { return layout_.schedule == spec::Schedule::kZbH1 && layout_.pp > 1; }
  void fill(PassSet& set, Family kernels);
  /// How much longer the host launches a chunk's passes than the GPU runs them; below 0 where it
  /// does not. A host that waits for its GPU is slower with it: 0.
  static double host_slack_s(const ChunkPass& chunk);
  BlockCosts& blocks_of(const Candidate& candidate, Family kernels);
  void fill_pass(Pass& pass);
  ChunkPass chunk_pass(const Pass& pass, size_t kind) const;
  /// What an exchange between experts and data parallelism's collectives do to each other.
  TwoLanes::Beside exchange_beside(const BlockCosts& blocks) const;
  void pair_up(const Pass& pass, size_t kind, MaxPlus& forward, MaxPlus& backward) const;
  const SavedData& data_of(const DataOption& data);
  double scattered_s(Sharding sharding);
  /// What the stages of a kind wait for memory in a step.
  double allocator_wait_s(size_t kind, const Candidate& candidate, Sharding sharding);
  const PassTimes& times(Family family, size_t pass);
  void find_anchors(Family family, FamilyTimes& times);
  void find_curves(Family family);
  bool leave_bent_curves(Family family, const Anchors& anchors);
  bool waits_for_host(const Pass& pass) const;
  const PassTimes& play_anchor(Family family, size_t anchor);
  void play_group(Family family, size_t group);
  void meet_gradients();
  void meet_transfers(double around_s);
  void price_links(const spec::Job& job, const workload::Operator& message, double around_s);
  void play(Family family, const LaneGroup& group, const PipelineDemands* sharing, size_t lane);
  void keep_ends(size_t lane, PassTimes& times) const;
  void play_row(const Pass& pass, PassTimes& times) const;
  std::vector<std::span<const DataCosts::Unit>> units_of(Family family);
  bool is_crowded(const Pass& pass) const;
  void play_stage(const Pass& pass, Family family, PassTimes& times);
  void set_costs(size_t lane, const Pass& pass, Family family, LaneGroup& group);
  void set_beside(size_t lane, const Pass& pass, size_t kind, ChunkCosts& costs) const;
  void set_scattered(size_t lane, const Pass& pass, size_t kind,
                     std::span<const DataCosts::Unit> units, LaneGroup& group);
  void find_transfers(const spec::Job& job);
  LinkDemand data_demand(const spec::Job& job) const;
  double gather_delay_s(const Pass& pass, const SavedData& data);
  const Reduced& reduced(size_t pass, const SavedData& data);
  const Reduced& reduced_at(size_t anchor, const SavedData& data);

  const Space& space_;
  Parts parts_;
  LayoutMemory memory_;
  PipelineTimes pipelines_;
  std::vector<std::optional<PowerEstimate>> power_;  ///< by base
  double collective_slowdown_ = 1;

  Layout layout_;
  const Ranks *ranks_ = nullptr, *fsdp_ranks_ = nullptr;
  const spec::Job* base_ = nullptr;     ///< what all candidates of the layout's base share
  bool has_allocator_ = false;          ///< the software says what memory that runs out costs
  bool scatters_ = false;               ///< ZeRO 2 and 3 run other kernels than 0 and 1
  const Division* division_ = nullptr;  ///< of the layout, whatever is recomputed
  const workload::Workload* workload_ =
      nullptr;  ///< of the layout without overlap or recomputation
  /// By all of the layout but its schedule and micro batch, which the step's end does not see.
  std::map<std::vector<int64_t>, std::vector<SavedData>> saved_data_;
  std::vector<SavedData>* data_ = nullptr;  ///< the layout's
  LinkDemand data_demand_;                  ///< of data parallelism's collectives
  /// By choice of recomputation, overlap and family; null: not asked for yet.
  std::vector<std::array<std::array<BlockCosts*, kFamilies>, kOverlaps>> blocks_;
  std::vector<TransferCost> transfers_;
  PipelineDemands demands_;
  size_t transfer_link_ = 0;  ///< 1: transfers leave the domain
  physics::Energy transfer_energy_;
  int64_t micro_batches_ = 1;

  std::vector<PassVariant> variants_;
  Overlap overlap_;                        ///< of the first variant; all are played alike
  std::array<PassSet, kFamilies> passes_;  ///< by the first family that runs the same kernels
  std::vector<StageSums> stage_sums_;      ///< by stage kind, of the pass at hand
  double gather_delay_s_ = -1;
  std::vector<double> gathered_beside_;  ///< forwards that it was found for
  PipelineEnds ends_;
  std::vector<CurvePoint> curve_points_;
  std::array<FamilyTimes, kFamilies> times_;
};

}  // namespace ergometer::search
