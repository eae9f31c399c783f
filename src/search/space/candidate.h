#pragma once

#include <cstdint>
#include <vector>

#include "spec/job/job.h"

namespace ergometer::search {

/// What data parallelism shards: Megatron's ZeRO stages, or PyTorch FSDP.
enum class Sharding : uint8_t { kZero0, kZero1, kZero2, kZero3, kFsdp };
constexpr size_t kShardings = 5;

/// How layers are divided over the chunks of a pipeline.
enum class Split : uint8_t {
  kGiven,             ///< as the settings say; evenly where they say nothing
  kEmbeddingAndLoss,  ///< Megatron-LM counts each as a layer
  kLoss,              ///< or the loss alone
  kShortLast,         ///< a last stage with fewer layers than the others
  kShortEnds,         ///< so the first, too
  kOwn                ///< `spec::own_stage_layers`
};

/// How ranks, batch and pipeline are divided: what the first loops of a search are over.
struct Layout {
  int32_t base = 0;  ///< index into `Space::bases`: GPU count, precision, clock cap
  int64_t tp = 1, cp = 1, pp = 1, vpp = 1, dp = 1, ep = 1, etp = 1, micro_batch = 1;
  Split split = Split::kGiven;
  bool sequence_parallel = false;
  spec::Schedule schedule = spec::Schedule::kOneFOneB;
  bool operator==(const Layout&) const = default;
};

/// What is recomputed: index into `Space::recomputations`, and for the block method how many layers
/// of a chunk; 0: all.
struct Recomputation {
  int32_t choice = 0;
  int32_t depth = 0;
  bool operator==(const Recomputation&) const = default;
};

/// Transfers beside compute, other than data parallelism's.
struct Overlap {
  bool tensor = false, pipeline = false, expert = false, shared_expert = false;
  bool operator==(const Overlap&) const = default;
};

/// Whether passes under both are played by the same rules: `Estimator::set_passes` takes them
/// together.
inline bool played_alike(const Overlap& a, const Overlap& b) {
  return a.pipeline == b.pipeline && a.expert == b.expert;
}

/// What differs between passes over the same micro batch.
struct PassVariant {
  Overlap overlap;
  Recomputation recomputation;
  bool operator==(const PassVariant&) const = default;
};

/// Sharding and data parallelism's own overlap.
struct DataOption {
  Sharding sharding = Sharding::kZero1;
  bool overlap_gradients = false, overlap_parameters = false;
  bool operator==(const DataOption&) const = default;
};

/// What a layout says besides where nodes are unlike.
struct OnUnlikeNodes {
  std::vector<int64_t> stage_layers;  ///< empty: as the layout's split says
  std::vector<int64_t> rank_map;      ///< empty: ranks on GPUs in order
  bool batches_by_speed = false;
  bool operator==(const OnUnlikeNodes&) const = default;
};

/// One way to run the job.
struct Candidate {
  Layout layout;
  Recomputation recomputation;
  Overlap overlap;
  DataOption data;
  OnUnlikeNodes unlike = {};
  bool operator==(const Candidate&) const = default;
};

}  // namespace ergometer::search
