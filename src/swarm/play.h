#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "swarm/peers.h"

// A pipeline whose stages are sets of peers (SWARM parallelism, Ryabinin et al. 2023, arXiv
// 2301.11913), played event by event.
namespace ergometer::swarm {

/// What a peer takes for one micro batch of a stage, and for the step's end. Seconds.
struct StageWork {
  double forward_s = 0, backward_s = 0, optimizer_s = 0;
  double batch_s() const { return forward_s + backward_s; }
};

/// What moves of a stage.
struct StageBytes {
  double gradients = 0;  ///< on the wire, a peer's part of the reduction
  double state = 0;      ///< weights and optimizer: what a peer that comes has to fetch
};

struct Pipeline {
  int64_t micro_batches = 1;       ///< a step, of all peers together
  double border_bytes = 0;         ///< between stages, a micro batch and direction
  bool gathers_gradients = false;  ///< top-k: everybody gets everybody's, not a sum
  /// Gradients of an embedding that first and last stage share, which they add up at the step's
  /// end.
  double tied_bytes = 0;
  std::vector<StageBytes> stages;
  std::vector<PeerKind> kinds;
  std::vector<std::vector<StageWork>> work;  ///< [kind][stage]
};

struct PlayOptions {
  int64_t steps = 20;
  uint64_t seed = 1;
  double rebalance_s = 300;  ///< between moves of a peer to another stage; 0: none moves
  int64_t in_flight = 1;     ///< micro batches under way for each peer; 1: as many as in 1F1B
};

/// Of a stage or of a kind of peers. Seconds of all its peers together.
struct Share {
  double present_s = 0, busy_s = 0;
  double network_s = 0;       ///< of the rest, what it waits for messages, sums and weights
  int64_t micro_batches = 0;  ///< whose backward was done
};

struct Outcome {
  std::vector<double> step_s;
  double total_s = 0;
  std::vector<Share> stages, kinds;
  int64_t left = 0, joined = 0, moved = 0;  ///< peers
  int64_t redone = 0;                       ///< forwards that were lost and done again
  /// [kind][stage]: micro batches whose activations one peer had at once, at most.
  std::vector<std::vector<int64_t>> most_held;
};

/// Plays so many steps. Micro batches go to the peer of the next stage that has had the least work
/// for its measured speed (interleaved weighted round robin); a backward goes where its forward
/// was. A step ends when all micro batches are through; then every stage adds its gradients up over
/// a ring, paced by its slowest line, and applies them. Peers that leave lose what they hold:
/// others do it again from the nearest stage that still has it, and the gradient behind it is sent
/// again; where its sender is gone too, the stages behind it are done again. Peers that come, and
/// at most one every `rebalance_s` between steps, join the stage that is slowest, fetch its state
/// over the line of one that has it, and slow that one's messages down meanwhile. The same seed
/// gives the same answer. An input error where a stage loses its last peer and nobody is to come.
Result<Outcome> play(const Pipeline& pipeline, const PlayOptions& options);

}  // namespace ergometer::swarm
