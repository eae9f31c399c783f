#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::workload {

/// How full the ranks of an expert-parallel group are, 1: as with even routing. Expected values:
/// how far a micro batch is off by chance is not in them.
struct ExpertLoads {
  /// [decoder layer][member of the group]; no members: nothing of the layer is uneven. Empty: of no
  /// layer.
  std::vector<std::vector<double>> by_layer;
  double most = 1;  ///< of all ranks in all layers

  bool even() const { return by_layer.empty(); }
  /// Of the fullest rank in a layer; 1 outside the decoder's layers.
  double fullest(int64_t layer) const;
  double of(int64_t layer, int64_t member) const;
  /// `fullest`, mean over the layers that have experts.
  double mean_fullest() const;
};

/// Even without expert parallelism, and where experts are padded to their capacity: all take as
/// many rows then. A capacity alone drops what is beyond it; 1 is the mean of what is left. Even
/// routing leaves ranks uneven that do not divide the experts.
ExpertLoads expert_loads(const spec::Job& job);

/// Whether experts of one of the model's groups lie on any rank: placed by load, but where tokens
/// travel once to every node that they need, of several, and ranks can hold whole groups. Nothing
/// limits then on how many nodes a token's experts are.
bool scatters_groups(const spec::Job& job);

/// What the ranks of a group sum of the gradients of experts with copies, [decoder layer][member of
/// the group]: so many times the gradients of one expert. Empty without copies.
struct CopySums {
  std::vector<std::vector<double>> sent;     ///< each of c copies counts (c - 1) / c
  std::vector<std::vector<double>> leaving;  ///< of it, what leaves the rank's scale-up domain
};
/// `together`: so many members of the group lie in a domain, in order; all of them: nothing leaves.
CopySums copy_sums(const spec::Job& job, int64_t together);

/// The shares of a layer's choices that its experts take, in order; they add up to 1. `moe_layer`:
/// counted among the layers that have experts. A token chooses an expert once: none takes more than
/// 1 / top-k.
std::vector<double> expert_shares(const spec::Job& job, int64_t moe_layer);

/// The share of choices that a capacity drops, mean over layers; 0 without one. A copy has that of
/// an expert.
double dropped_share(const spec::Job& job);

/// The share of so many choices of a rank's tokens that a capacity leaves.
double kept_share(const spec::Job& job, double choices);

/// Rows that a rank whose tokens make so many choices sends to experts: what a capacity leaves, or,
/// padded to it, the same number for each expert and copy.
double expert_rows(const spec::Job& job, double choices);

}  // namespace ergometer::workload
