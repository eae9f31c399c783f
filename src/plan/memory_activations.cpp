#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "plan/data_parallel.h"
#include "plan/memory_parts.h"
#include "plan/schedule.h"

// Walks the stage's schedule. A forward leaves its chunk's kept tensors (of recomputed layers the
// checkpoint), a backward frees them block by block, last block first. The peak is looked for
// inside every backward: while block i runs, the blocks behind it are freed, its transient is
// alive, and if it is recomputed its kept tensors are back. Where gradients appear in backward,
// those of the blocks behind it are there, and all of them once it has ended; of a tied embedding
// its head's until then. Where routing is uneven, on the rank that needs most; where documents are,
// on the replica.
namespace ergometer::plan {
namespace {

const char* const kLogits =
    "logits";  // the loss's part of a head's kept tensors, see workload/block/activations.cpp

double logits_of(const workload::ActivationShare& share) {
  double bytes = 0;
  for (const auto& [name, part] : share.parts) bytes += name == kLogits ? part : 0;
  return bytes;
}

bool has_loss(const workload::Block& block) {
  return block.kind == workload::BlockKind::kHead || block.kind == workload::BlockKind::kMtp;
}

/// Layers between two checkpoints: the uniform method's group, else one, as always where layers are
/// gathered one by one.
int64_t checkpoint_group(const spec::Job& job) {
  const spec::Training& training = job.training;
  const bool grouped = training.recompute == spec::Recompute::kFull &&
                       training.recompute_layers > 1 &&
                       training.recompute_method == spec::RecomputeMethod::kUniform &&
                       !job.parallelism.shards_parameters();
  return grouped ? training.recompute_layers : 1;
}

/// Whom the walk looks at: a member of the expert-parallel group, and how many tokens its micro
/// batch has, in those of the one that is lowered.
struct Who {
  int64_t member = 0;
  double tokens = 1;
};

/// What any micro batch has of images: a bound for all of them.
double most_tiles(const workload::SequenceLoads& sequences) {
  return std::ranges::max(sequences.loads.back());
}

/// What the blocks of a chunk leave behind, in order.
class Shares {
 public:
  Shares(const workload::Workload& workload, const Chunk& chunk, const Who& who) {
    for (size_t i = 0; i < chunk.blocks.size(); ++i) {
      const auto block = static_cast<size_t>(chunk.blocks[i]);
      const workload::ActivationShare& even = workload.blocks[block].activations;
      shares_.push_back(&even);
      if (workload.uneven == nullptr) continue;
      const workload::UnevenWork& uneven = *workload.uneven;
      const bool documents = !uneven.sequences.even();
      const bool images = documents && chunk.blocks[i] <= workload.projector_block;
      const double load = images      ? most_tiles(uneven.sequences)
                          : documents ? who.tokens
                                      : uneven.loads.of(chunk.layers[i], who.member);
      const double most = images      ? uneven.sequences.full.back()
                          : documents ? uneven.sequences.full[0]
                                      : uneven.loads.most;
      if (load != 1)
        shares_.back() = &own_.emplace_back(at_load(most, load, even, uneven.activations[block]));
    }
  }
  const workload::ActivationShare& operator[](size_t index) const { return *shares_[index]; }

 private:
  /// On the straight line from an even load to the most.
  static workload::ActivationShare at_load(double most, double load,
                                           const workload::ActivationShare& even,
                                           const workload::ActivationShare& full) {
    const double along = (load - 1) / (most - 1);
    const auto between = [&](double a, double b) { return a + along * (b - a); };
    workload::ActivationShare share{.kept = between(even.kept, full.kept),
                                    .checkpoint = between(even.checkpoint, full.checkpoint),
                                    .transient = between(even.transient, full.transient),
                                    .parts = even.parts};
    for (size_t i = 0; i < share.parts.size(); ++i)
      share.parts[i].second = between(even.parts[i].second, full.parts[i].second);
    return share;
  }

  std::vector<const workload::ActivationShare*> shares_;
  std::deque<workload::ActivationShare> own_;
};

/// Members of the expert-parallel group, or replicas, that keep differently much: one where all are
/// alike.
int64_t told_apart(const spec::Job& job, const workload::Workload& workload) {
  if (workload.uneven == nullptr) return 1;
  const workload::SequenceLoads& sequences = workload.uneven->sequences;
  if (sequences.even()) return job.parallelism.ep;
  return sequences.full[0] > 1 ? sequences.replicas : 1;
}

/// Bytes a block holds after forward, and what its recomputation has brought back when its backward
/// starts.
struct Held {
  double kept = 0, rebuilt = 0;
};

/// Whether the block's kept tensors wait on the host until its backward, when they are back. There
/// are no pipeline stages beside it.
bool is_offloaded(const spec::Job& job, const workload::Workload& workload, const Chunk& chunk,
                  size_t block) {
  if (!job.offloads_activations()) return false;
  const auto is_layer = [&](int index) {
    return workload.blocks[static_cast<size_t>(index)].kind == workload::BlockKind::kLayer;
  };
  const auto first = chunk.blocks.begin();
  const auto here = first + static_cast<std::ptrdiff_t>(block);
  return is_layer(*here) && std::count_if(first, here, is_layer) < job.training.offloaded_layers;
}

/// A group's checkpoint is its first layer's input; recomputation runs the whole group, so a
/// layer's backward finds all layers before it in the group rebuilt. The rebuilt first layer
/// contains its checkpoint.
std::vector<Held> held_by_block(const spec::Job& job, const workload::Workload& workload,
                                const Chunk& chunk, const Shares& shares) {
  std::vector<Held> held;
  const int64_t group = checkpoint_group(job);
  int64_t layer = 0;
  double rebuilt = 0;
  for (size_t i = 0; i < chunk.blocks.size(); ++i) {
    const workload::ActivationShare& share = shares[i];
    if (is_offloaded(job, workload, chunk, i)) {
      held.push_back({0, share.kept});
      continue;
    }
    // As `is_recomputed`, without counting from the start again.
    const bool repeats = !workload.blocks[static_cast<size_t>(chunk.blocks[i])].recompute.empty();
    if (!repeats || layer >= chunk.recomputed_blocks) {
      held.push_back({share.kept, 0});
      continue;
    }
    const bool first = layer++ % group == 0;
    rebuilt = first ? share.kept - share.checkpoint : rebuilt + share.kept;
    held.push_back({first ? share.checkpoint : 0, rebuilt});
  }
  return held;
}

void add_parts(const spec::Job& job, const workload::Workload& workload, const Chunk& chunk,
               const Shares& shares, int64_t alive, std::map<std::string, double>& sums) {
  for (size_t i = 0; i < chunk.blocks.size(); ++i) {
    if (is_offloaded(job, workload, chunk, i)) continue;
    const workload::ActivationShare& share = shares[i];
    if (is_recomputed(chunk, workload, i)) {
      sums["checkpoints"] += static_cast<double>(alive) * share.checkpoint;
      continue;
    }
    for (const auto& [name, bytes] : share.parts)
      if (name != kLogits) sums[name] += static_cast<double>(alive) * bytes;
  }
}

struct Peak {
  double total = 0, loss = 0, gradients = 0, gradient_lift = 0;
  std::vector<int64_t> alive;
  std::vector<double> tokens;  ///< of those alive together, by chunk
};

/// Takes `bytes` off the parts, the largest first.
void take_off(double bytes, std::vector<std::pair<std::string, double>>& parts) {
  while (bytes > 0 && !parts.empty()) {
    const auto largest = std::ranges::max_element(
        parts, [](const auto& a, const auto& b) { return a.second < b.second; });
    const double taken = std::min(bytes, largest->second);
    largest->second -= taken;
    bytes -= taken;
    if (largest->second <= 0) parts.erase(largest);
  }
}

ChunkMemory chunk_memory_of(const spec::Job& job, const workload::Workload& workload,
                            const Chunk& chunk, const Who& who) {
  const Shares shares(workload, chunk, who);
  const std::vector<Held> held = held_by_block(job, workload, chunk, shares);
  const bool appear = gradients_appear_in_backward(job);
  const TiedGradients tied = tied_gradients(job);
  ChunkMemory memory;
  double freed = 0, freed_logits = 0, gradients = 0, bare = 0;
  for (size_t i = chunk.blocks.size(); i-- > 0;) {
    const workload::Block& block = workload.blocks[static_cast<size_t>(chunk.blocks[i])];
    const double above = shares[i].transient + held[i].rebuilt - freed + gradients;
    if (above > memory.backward) {
      memory.backward = above;
      memory.backward_loss = has_loss(block) ? shares[i].transient : 0;
      memory.freed_logits = freed_logits;
      memory.gradients = gradients;
    }
    bare = std::max(bare, above - gradients);
    memory.forward = std::max(memory.forward, shares[i].transient);
    memory.kept += held[i].kept;
    memory.kept_logits += logits_of(shares[i]);
    freed += held[i].kept;
    freed_logits += logits_of(shares[i]);
    if (appear) gradients += gradient_bytes(job, block.parameters);
    if (block.kind == workload::BlockKind::kHead) gradients += tied.waiting;
  }
  gradients += tied.sum;
  if (gradients - freed > memory.backward) {
    memory.backward = gradients - freed;
    memory.backward_loss = 0;
    memory.freed_logits = freed_logits;
    memory.gradients = gradients;
  }
  memory.gradient_lift = memory.backward - bare;
  return memory;
}

}  // namespace

ChunkMemory chunk_memory(const spec::Job& job, const workload::Workload& workload,
                         const Chunk& chunk, int64_t member) {
  return chunk_memory_of(job, workload, chunk, {member});
}

ChunkMemory chunk_memory(const spec::Job& job, const workload::Workload& workload,
                         const Chunk& chunk) {
  ChunkMemory most = chunk_memory(job, workload, chunk, 0);
  for (int64_t member = 1; member < told_apart(job, workload); ++member) {
    const ChunkMemory other = chunk_memory(job, workload, chunk, member);
    if (other.kept > most.kept) most = other;
  }
  return most;
}

namespace {

/// On the straight line from `a` to `b`.
ChunkMemory between(const ChunkMemory& a, const ChunkMemory& b, double along) {
  const auto at = [&](double ChunkMemory::* value) {
    return a.*value + along * (b.*value - a.*value);
  };
  return {.kept = at(&ChunkMemory::kept),
          .kept_logits = at(&ChunkMemory::kept_logits),
          .forward = at(&ChunkMemory::forward),
          .backward = at(&ChunkMemory::backward),
          .backward_loss = at(&ChunkMemory::backward_loss),
          .freed_logits = at(&ChunkMemory::freed_logits),
          .gradients = at(&ChunkMemory::gradients),
          .gradient_lift = at(&ChunkMemory::gradient_lift)};
}

/// What every micro batch of a stage holds, on a member that is told apart.
class BatchMemory {
 public:
  BatchMemory(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
              int64_t member)
      : member_(member) {
    if (workload.uneven != nullptr && !workload.uneven->sequences.even())
      sequences_ = &workload.uneven->sequences;
    for (const Chunk& chunk : stage.chunks) {
      chunks_.push_back(chunk_memory(job, workload, chunk, member));
      if (sequences_ != nullptr)
        most_.push_back(chunk_memory_of(job, workload, chunk, {0, sequences_->full[0]}));
    }
  }
  double tokens(int64_t micro_batch) const {
    return sequences_ == nullptr ? 1 : sequences_->of(0, micro_batch, member_);
  }
  ChunkMemory of(const ScheduleSlot& slot) const {
    const auto chunk = static_cast<size_t>(slot.chunk);
    if (sequences_ == nullptr || sequences_->full[0] <= 1) return chunks_[chunk];
    const double along = (tokens(slot.micro_batch) - 1) / (sequences_->full[0] - 1);
    return between(chunks_[chunk], most_[chunk], along);
  }

 private:
  int64_t member_;
  const workload::SequenceLoads* sequences_ = nullptr;
  std::vector<ChunkMemory> chunks_, most_;
};

/// The fullest moment of the schedule.
Peak peak_of(const spec::Job& job, const BatchMemory& batches,
             const workload::ActivationShare& vocabulary, size_t chunks, int64_t stage_index) {
  std::vector<int64_t> alive(chunks, 0);
  std::vector<double> tokens(chunks, 0);
  Peak peak;
  peak.alive = alive;
  peak.tokens = tokens;
  // Of a divided vocabulary, what lasts from one pass to the next is there all the time.
  double held = vocabulary.kept, logits = logits_of(vocabulary);
  const bool inference =
      job.training.mode == spec::Mode::kPrefill || job.training.mode == spec::Mode::kDecode;
  for (const ScheduleSlot& slot : schedule(job, stage_index)) {
    const ChunkMemory chunk = batches.of(slot);
    int64_t& count = alive[static_cast<size_t>(slot.chunk)];
    double& tokens_alive = tokens[static_cast<size_t>(slot.chunk)];
    const double own_tokens = batches.tokens(slot.micro_batch);
    const bool forward = slot.kind == SlotKind::kForward;
    if (forward && !inference) {
      ++count, tokens_alive += own_tokens;
      held += chunk.kept, logits += chunk.kept_logits;
    }
    // A layer's forward needs no more than what it keeps; in inference, where nothing is kept, its
    // transient.
    const double own = inference ? chunk.forward : forward ? 0 : chunk.backward;
    const bool in_vocabulary = vocabulary.transient > own;
    const double above = in_vocabulary ? vocabulary.transient : own;
    if (held + above > peak.total) {
      const double loss = in_vocabulary ? vocabulary.transient
                          : forward     ? 0
                                        : chunk.backward_loss - chunk.freed_logits;
      peak = {held + above,
              logits + loss,
              forward ? 0 : chunk.gradients,
              forward ? 0 : chunk.gradient_lift,
              alive,
              tokens};
    }
    const bool frees = slot.kind == SlotKind::kBackward || slot.kind == SlotKind::kBackwardWeight;
    if (frees) {
      --count, tokens_alive -= own_tokens;
      held -= chunk.kept, logits -= chunk.kept_logits;
    }
  }
  return peak;
}

ActivationMemory activations_of_member(const spec::Job& job, const workload::Workload& workload,
                                       const Stage& stage, int64_t stage_index, int64_t member) {
  const BatchMemory batches(job, workload, stage, member);
  const workload::ActivationShare& vocabulary = workload.vocabulary.activations;
  const Peak peak = peak_of(job, batches, vocabulary, stage.chunks.size(), stage_index);
  ActivationMemory memory;
  memory.loss = peak.loss;
  memory.gradients = peak.gradients;
  memory.gradient_lift = peak.gradient_lift;
  memory.activations = peak.total - peak.loss - peak.gradients;
  std::map<std::string, double> sums;
  for (size_t i = 0; i < peak.alive.size(); ++i) {
    if (peak.alive[i] == 0) continue;
    const Who who{member, peak.tokens[i] / static_cast<double>(peak.alive[i])};
    add_parts(job, workload, stage.chunks[i], Shares(workload, stage.chunks[i], who), peak.alive[i],
              sums);
  }
  for (const auto& [name, bytes] : vocabulary.parts)
    if (name != kLogits) sums[name] += bytes;
  double named = 0;
  for (const auto& [name, bytes] : sums) {
    if (bytes <= 0) continue;
    memory.parts.emplace_back(name, bytes);
    named += bytes;
  }
  // What is rebuilt or in passing at the peak, less what that backward has freed already; when that
  // is more, it comes off the largest parts.
  const double rest = memory.activations - named;
  if (rest > 0) memory.parts.emplace_back("working_set", rest);
  if (rest < 0) take_off(-rest, memory.parts);
  return memory;
}

}  // namespace

ActivationMemory activation_memory(const spec::Job& job, const workload::Workload& workload,
                                   const Stage& stage, int64_t stage_index) {
  ActivationMemory most = activations_of_member(job, workload, stage, stage_index, 0);
  for (int64_t member = 1; member < told_apart(job, workload); ++member) {
    ActivationMemory other = activations_of_member(job, workload, stage, stage_index, member);
    if (other.total() > most.total()) most = std::move(other);
  }
  return most;
}

}  // namespace ergometer::plan
