#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/compression.h"
#include "spec/settings/settings.h"
#include "swarm/play.h"

namespace ergometer::swarm {

/// A kind of peers, and what is known of its GPU.
struct KindPlayed {
  PeerKind kind;
  std::string gpu;
  /// The stages that peers of the kind worked on fit into its memory, with all that one of them
  /// held at once.
  bool fits = true;
  double one_f_one_b_s = 0;  ///< a step of the pipeline with one such GPU a stage, as `simulate`
  double shortest = 1, longest = 1;  ///< ends of that step's 90 % interval, over it
  /// A GPU at work and one that waits (its idle reading, assumed); 0: nothing is known.
  double busy_w = 0, waiting_w = 0;
  Share share;
  double energy_j() const {
    return busy_w * share.busy_s + waiting_w * (share.present_s - share.busy_s);
  }
  double dollars() const { return kind.dollars_per_hour * share.present_s / 3600; }
};

/// Square-cube law: a stage's work grows with the square of the width, what it sends with the
/// width.
struct Width {
  int64_t hidden = 0;
  double compute_s = 0;   ///< a micro batch of a stage, forward and backward
  double transfer_s = 0;  ///< its two messages over the uplink of a peer like the receiver
  bool pays() const { return compute_s >= transfer_s; }
};

/// Memory of a peer with one stage, bytes.
struct StageNeed {
  double capacity = 0;
  double bytes = 0;       ///< as 1F1B fills it, with
  int64_t held = 1;       ///< micro batches
  double more_bytes = 0;  ///< for each that it holds beyond them
  bool fits(int64_t micro_batches) const {
    const int64_t more = micro_batches > held ? micro_batches - held : 0;
    return bytes + static_cast<double>(more) * more_bytes <= capacity;
  }
};

struct Swarm {
  std::string model;
  int64_t micro_batches = 0, hidden = 0;
  double tokens_a_step = 0;
  spec::Compression activations, gradients;
  Pipeline pipeline;
  std::vector<KindPlayed> kinds;
  std::vector<std::vector<StageNeed>> needs;  ///< [kind][stage]
  Outcome outcome;
  /// Tokens/s where lines are half and twice as fast and GPUs as far off as `simulate` says; 0
  /// where peers leave faster than steps end. By the means over `draws`, so that this is how far
  /// the prediction may be off, and not who happened to leave.
  double tokens_per_s_low = 0, tokens_per_s_high = 0;
  /// The lowest and highest of as many draws of who leaves and comes when; one: nobody leaves.
  int64_t draws = 1;
  double churn_tokens_per_s_low = 0, churn_tokens_per_s_high = 0;
  std::string widths_of;  ///< the kind whose line is slowest for its GPU
  std::vector<Width> widths;
  double tokens_per_s() const {
    return tokens_a_step * static_cast<double>(outcome.step_s.size()) / outcome.total_s;
  }
};

/// The job's `--pp` stages, one GPU a peer; the job says its batch for all peers together. An input
/// error where it says otherwise, or a kind's node is none.
Result<Swarm> play_swarm(const spec::Settings& job, const std::vector<PeerKind>& kinds,
                         const PlayOptions& options);

/// Rows for widths from 1,024 to 16,384. `flops_per_s`: what a GPU reaches; 12 h^2 parameters a
/// layer, 6 FLOPs for each and token; attention's square is left out.
std::vector<Width> widths(double layers, double tokens, double flops_per_s, double value_bytes,
                          double bytes_per_s);

}  // namespace ergometer::swarm
