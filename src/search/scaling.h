#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/search.h"

// One job on several numbers of GPUs, each with the layout that is best there: what more GPUs
// bring, and what of a step grows so that they bring less.
namespace ergometer::search {

/// What becomes of the batch: it stays, or it grows as the GPUs do.
enum class Scaling : uint8_t { kStrong, kWeak };

/// A part of a step. All parts add up to it, mean over ranks.
struct StepPart {
  std::string group = {};  ///< of a collective: "dp", "tp", ...; else empty
  std::string kind = {};   ///< "all_reduce", ..., "compute", "optimizer", "idle"
  double seconds = 0;      ///< of a collective, where the compute stream stands still for it
  /// A collective's kernels, exposed or not, mean over stages: start and hops, bytes over
  /// bandwidth, and the rest, which is waiting for other ranks and for links that others use.
  double latency_s = 0, transfer_s = 0, waiting_s = 0;
};

/// The best layout on a number of GPUs.
struct AtSize {
  int64_t gpus = 0, global_batch = 0;
  int64_t candidates = 0;
  std::string none = {};            ///< why there is no layout; empty: there is
  std::optional<Played> best = {};  ///< by the engine
  std::vector<StepPart> parts = {};
  double tokens() const;
  double meter_w() const;  ///< at the meter; 0: unknown
};

/// The term of a part that grew most.
enum class Term : uint8_t { kWork, kLatency, kTransfer, kWaiting };

struct Growth {
  std::string group, kind;     ///< as in StepPart
  double gpu_s_per_token = 0;  ///< more than at the size before
  Term term = Term::kWork;     ///< of a collective's kernels
};

/// What the GPUs from one size to the next bring.
struct Gain {
  size_t from = 0, to = 0;          ///< into the sizes; both have a layout
  double tokens_per_s_per_gpu = 0;  ///< of the added GPUs
  double of_first = 0;              ///< of what a GPU of the smallest size brings
  double tokens_per_j = 0;  ///< more tokens a second over more watts at the meter; 0: unknown
  std::vector<Growth> growth = {};  ///< of the GPU time a token takes, the largest first
};

struct ScalingResult {
  std::vector<AtSize> sizes;  ///< by number of GPUs
  std::vector<Gain> gains;    ///< between neighbours that have a layout
  bool complete = true;       ///< not stopped
};

/// `settings` have the batch of the smallest size, `space` the sizes, at least one. An input error:
/// a batch that is no number or would not grow in whole sequences, or power that is asked for and
/// unknown. A size without a layout says why.
Result<ScalingResult> scale(const spec::Settings& settings, const SpaceOptions& space,
                            const SearchOptions& options, Scaling scaling);

}  // namespace ergometer::search
