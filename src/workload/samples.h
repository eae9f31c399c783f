#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "spec/job/job.h"
#include "workload/sequences.h"

namespace ergometer::workload {

/// What is drawn as one of a batch's samples: tokens of what attends to itself, tiles of all its
/// images.
struct Sample {
  std::vector<int64_t> lengths;
  int64_t tiles = 0;
};

/// How much a packed sample holds at most.
struct PackingLimits {
  int64_t tokens = 0, tiles = 0;  ///< tiles 0: any number of them
};

/// Iterative sampling and filtering: in every round what is left is taken in random order and put
/// into groups, each as full as the next one allows; groups that reach the tiles' limit, or that of
/// tokens less 128, stay, the others are taken apart for the next round. The last round's all stay.
/// One round is packing in the order of the data. Source: OmniBal; the 128 tokens are assumed.
std::vector<Sample> pack(const std::vector<Sample>& samples, const PackingLimits& limits,
                         int64_t rounds, uint64_t seed);

/// The samples of a step of a job whose samples have images: `global_batch` of them, packed as the
/// job says.
std::vector<Sample> image_samples(const spec::Job& job, int64_t step);

/// Of micro batches [micro batch * replicas + replica].
struct PackingRatios {
  double padding = 0;  ///< of the tokens that there is room for: of packed ones, full sequences
  /// sum over replicas (most - own) / (most x replicas), mean over micro batches of a replica.
  double token_distance = 0, tile_distance = 0;
  double tokens = 0, tiles = 0;  ///< of a micro batch
};
PackingRatios packing_ratios(const spec::Job& job, const std::vector<MicroBatch>& batches);

}  // namespace ergometer::workload
