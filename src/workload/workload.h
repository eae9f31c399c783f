#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/job/job.h"
#include "workload/expert_loads.h"
#include "workload/operator.h"
#include "workload/sequence_loads.h"

namespace ergometer::workload {

/// The queues a rank issues work on. Work on one stream runs in issue order, streams run side by
/// side.
enum class Stream : uint8_t {
  kCompute,
  kTensor,
  kContext,
  kExpert,
  kData,
  kPipelineForward,
  kPipelineBackward,
  kVocabulary,  ///< collectives over the stages of a divided vocabulary
  kHostCopies   ///< activations to the host and back, by copy engines that need no SM
};
inline constexpr int kStreamCount = 9;

/// Operators on kHostCopies (workload/block/offload.cpp).
inline constexpr std::string_view kActivationsOut = "activations_to_host",
                                  kActivationsIn = "activations_from_host";

/// One entry of a block's list, in issue order: either an operator on a stream, or a join: `stream`
/// waits for everything issued so far on `on`. A collective on kCompute is in line, nothing hides
/// it.
struct Item {
  enum class Kind : uint8_t { kOperator, kJoin } kind = Kind::kOperator;
  Stream stream = Stream::kCompute;
  Stream on = Stream::kCompute;  ///< kJoin only
  int op = -1;                   ///< index into Workload::operators; kOperator only
};

/// Parameters that one rank holds, already divided by tp, ep and etp, before ZeRO shards them.
struct ParameterShare {
  double dense = 0, expert = 0;                      ///< all of them
  double trainable_dense = 0, trainable_expert = 0;  ///< what has gradients and optimizer states
  double quantized_dense = 0, quantized_expert = 0;  ///< frozen, in fewer bits (workload/storage.h)
  double narrow_dense = 0, narrow_expert = 0;        ///< matrices that multiply in FP8 or NVFP4
  double trainable_narrow_dense = 0, trainable_narrow_expert = 0;

  ParameterShare& operator+=(const ParameterShare& other) {
    dense += other.dense;
    expert += other.expert;
    trainable_dense += other.trainable_dense;
    trainable_expert += other.trainable_expert;
    quantized_dense += other.quantized_dense;
    quantized_expert += other.quantized_expert;
    narrow_dense += other.narrow_dense;
    narrow_expert += other.narrow_expert;
    trainable_narrow_dense += other.trainable_narrow_dense;
    trainable_narrow_expert += other.trainable_narrow_expert;
    return *this;
  }
};

/// Bytes one micro batch leaves on one rank between forward and backward of a block.
struct ActivationShare {
  double kept = 0;  ///< without full recomputation (selective recomputation already taken off)
  double checkpoint = 0;  ///< with full recomputation: the block's input; by operator: all it keeps
  double transient = 0;   ///< live only while the block itself runs, forward or backward
  std::vector<std::pair<std::string, double>> parts;  ///< what `kept` consists of
};

enum class BlockKind : uint8_t {
  kEmbedding,
  kLayer,
  kMtp,
  kHead,
  kVocabulary,
  kVision /* patches, projector */
};

/// A part of the model that is placed on a pipeline stage as a whole.
/// What inference keeps of a sequence from token to token.
struct CacheShare {
  double token_bytes = 0;   ///< keys and values of a token
  int64_t most_tokens = 0;  ///< as many as a window or a chunk looks back at; 0: all
  double state_bytes = 0;   ///< of a state-space layer, however long the sequence is
};

struct Block {
  BlockKind kind = BlockKind::kLayer;
  std::string name;  ///< "embedding", "dense layer", "moe layer", "head"
  std::vector<Item> forward;
  std::vector<Item>
      backward;  ///< dgrad and wgrad in execution order, selective recomputation included
  /// What recomputation of whole layers, or by operator, runs of forward once more before
  /// `backward`.
  std::vector<Item> recompute;
  ParameterShare parameters;
  ActivationShare activations;
  CacheShare cache;
  std::vector<double>
      weight_shapes;  ///< elements of the distinct weight matrices on this rank, one entry a shape
};

/// What uneven routing or uneven documents make of a job's work: the same operators and blocks on a
/// rank that is as full as any is in any layer, or for a micro batch as large as any. What others
/// do lies on the straight line through these and the job's own, in proportion to their load.
struct UnevenWork {
  ExpertLoads loads = {};                         ///< even where documents are uneven
  SequenceLoads sequences = {};                   ///< even where routing is uneven
  std::vector<Operator> operators = {};           ///< at the most, as `Workload::operators`
  std::vector<ActivationShare> activations = {};  ///< of the blocks

  /// The load that `operators` are at, of what `op` follows.
  double most(const Operator& op) const {
    return sequences.even() ? loads.most : sequences.full[sequences.measure(op)];
  }
};

/// A vocabulary divided over the stages: what every stage does with its part for one micro batch,
/// and what stages send each other for it (`spec::VocabularyPass`). Empty lists: it is not divided.
struct Vocabulary {
  std::vector<Item> input, output, output_gradient, input_gradient;
  double statistics_bytes = 0;  ///< of every token the maximum, the sum and the target's logit
  /// Of the output layer: `kept` from its first pass to its second, `transient` in the first.
  ActivationShare activations;
};

/// Every operator of a job on one rank, block by block. Which stage runs which block, and when, is
/// the plan's.
struct Workload {
  std::vector<Operator> operators;
  std::vector<Block> blocks;
  /// Block of every layer that a pipeline divides: the vision tower's, then the decoder's.
  std::vector<int> layer_blocks;
  int vision_layers = 0;     ///< of these, the tower's
  int patch_block = -1;      ///< patch embedding, before the tower's first layer
  int projector_block = -1;  ///< behind the tower's last layer
  int embedding_block = -1;
  int stage_loss_block = -1;  ///< at the end of stages that train apart, but for the last
  int head_block = -1;        ///< final norm, output projection and loss; of a divided
                              ///< vocabulary the norm alone
  int vocabulary_block = -1;  ///< the matrices of `vocabulary`, on every stage; without lists
  Vocabulary vocabulary;
  std::vector<int> mtp_blocks;  ///< run on the last stage before the head
  double boundary_bytes = 0;    ///< what a rank sends to the next stage for one micro batch
  double tower_bytes = 0;       ///< the same between stages of the vision tower
  double image_bytes = 0;       ///< and behind its projector, to the decoder's first stage
  std::shared_ptr<const UnevenWork> uneven;  ///< null: all work is even, as all above
};

/// Lowers a checked job. `job.training.mode` decides what there is: pretrain, LoRA, prefill and
/// decode.
Workload lower(const spec::Job& job);

/// Once per step and stage, for the parameters a stage holds: what the optimizer reads and writes,
/// the local part of the gradient norm, scaling the gradients to clip them (no bytes where that is
/// part of the optimizer's kernel), zeroing the gradients.
Operator optimizer_step(const spec::Job& job, const ParameterShare& stage);
Operator gradient_norm(const spec::Job& job, const ParameterShare& stage);
Operator clip_gradients(const spec::Job& job, const ParameterShare& stage);
Operator zero_gradients(const spec::Job& job, const ParameterShare& stage);
/// Whether gradients have buffers of their own, which every step zeroes: Megatron's and nanotron's.
/// PyTorch's `zero_grad` frees gradients, and backward makes new ones.
bool keeps_gradient_buffers(const spec::Training& training);

}  // namespace ergometer::workload
