#pragma once

#include <cstdint>
#include <vector>

#include "plan/schedule.h"
#include "plan/stages.h"
#include "plan/writer.h"
#include "workload/packing.h"

namespace ergometer::plan {

/// Bytes of one gradient and of one parameter as data parallelism sends them; of a parameter that
/// travels in FP8, one byte (`sent_bytes`).
double gradient_bytes(const spec::Training& training);
double parameter_bytes(const spec::Training& training);
/// Bytes of so many parameters as they are sent, `narrow` of which multiply in FP8: Megatron-Core
/// and Transformer Engine keep linear layers' weights in FP8 only, while embeddings, the output
/// layer, routers, norms and biases stay in 16 bit.
double sent_bytes(const spec::Training& training, double elements, double narrow);
/// Gradients are reduced as every micro batch's backward goes, or as the last one's does
/// (`adds_whole_gradients`), rather than once a step.
bool reduces_every_micro_batch(const spec::Job& job);

/// FSDP that reduces after the step's last micro batch alone: whole gradients are added up until
/// then.
bool adds_whole_gradients(const spec::Job& job);

/// Gradients of a chunk that travel together: those of block `lowest`, in forward order, and of the
/// blocks behind it up to the next bucket.
struct Bucket {
  size_t lowest = 0;
  double elements = 0;    ///< trainable
  double sent_bytes = 0;  ///< of these parameters, gathered
};
/// Where a bucket ends: at the first block border where it holds that many elements, or, as PyTorch
/// DDP's, behind any matrix.
struct BucketSize {
  double elements = 0;
  bool splits_blocks = false;
};
/// The buckets of dense or of expert parameters of one chunk, in forward order. They are filled in
/// reverse layer order, as backward completes gradients. Where blocks may be split a large one
/// gives several, of the same `lowest`.
std::vector<Bucket> gradient_buckets(const spec::Training& training,
                                     const workload::Workload& workload, const Chunk& chunk,
                                     bool expert, const BucketSize& size);
/// The bucket size the job asks for, or Megatron-Core's default.
BucketSize bucket_size(const spec::Job& job);

/// The reduction of so many gradients between replicas, compressed where the job says so.
workload::PackedReduction gradient_reduction(const spec::Job& job, bool expert, double elements);

/// A collective of the plan's own, in 32 or 16 bit by `element_bytes`.
workload::Operator data_collective(const char* name, workload::CollectiveKind kind,
                                   workload::GroupKind group, double elements,
                                   double element_bytes);

/// Data-parallel traffic of one stage: Megatron's buffers of gradients under ZeRO 0 and 1, and of
/// parameters under ZeRO 1 and 2, dense and expert ones apart because their replicas differ.
///
/// Overlapped gradients are reduced bucket by bucket, in reverse layer order, as the last micro
/// batch's backward completes them (`bucket_size`). Overlapped parameter gathers use the same
/// buckets in forward order: each is waited for before the first block that needs it, and the next
/// one is issued at that moment. With interleaving the gathers of whole chunks start together on
/// all stages instead (Megatron's `align_param_gather`). Without overlap there is one collective a
/// step.
class DataParallel {
 public:
  DataParallel(const spec::Job& job, const workload::Workload& workload, const Stage& stage,
               int64_t stage_index, OperatorTable& operators, ProgramWriter& writer);

  bool overlaps_parameters() const { return overlap_parameters_; }
  bool overlaps_gradients() const { return overlap_gradients_; }

  void begin_step();
  /// Before the forward slot that is `forward_index`-th of all the stage's forwards, `forwards` in
  /// order.
  void before_forward(const std::vector<ScheduleSlot>& forwards, size_t forward_index);
  /// First micro batch: block `index` of `chunk` needs its parameters.
  void before_block(size_t chunk, size_t index);
  /// Last micro batch: the gradients of block `index` of `chunk` are complete.
  void after_block(size_t chunk, size_t index);
  /// All gradients are reduced behind this, as far as the compute stream is concerned.
  void finish_gradients();
  /// Parameters that the next step does not gather itself.
  void gather_parameters();

 private:
  struct SentBucket {
    size_t lowest = 0;  ///< first block, in forward order, that it covers
    int32_t reduce = -1, gather = -1, event = -1;
    int32_t pack = -1, unpack = -1;  ///< around `reduce`, where gradients are compressed
    bool gathered = false;
  };
  /// The buckets of one kind of parameters in one chunk, in forward order.
  struct Chain {
    std::vector<SentBucket> buckets;
  };
  struct Kind {
    bool expert = false;
    bool active = false;        ///< there are replicas to talk to
    double total = 0;           ///< trainable elements on the stage
    double sent_bytes = 0;      ///< of these, gathered
    std::vector<Chain> chains;  ///< one a chunk
  };

  void make_chain(Kind& kind, const Chunk& chunk);
  int32_t gather_op(const Kind& kind, double elements, double bytes);
  void issue_gather(SentBucket& bucket);
  void gather_chunk(size_t chunk);

  const spec::Job& job_;
  const workload::Workload& workload_;
  const Stage& stage_;
  int64_t stage_index_;
  OperatorTable& operators_;
  ProgramWriter& writer_;
  BucketSize bucket_size_;
  bool overlap_gradients_, overlap_parameters_, aligned_;
  Kind kinds_[2];
};

}  // namespace ergometer::plan
