#include "plan/data_parallel.h"

#include <algorithm>
#include <numeric>

#include "plan/placement.h"
#include "workload/shapes.h"

namespace ergometer::plan {
namespace {

using workload::CollectiveKind;
using workload::GroupKind;
using workload::Stream;

/// Megatron-Core's default bucket, core/distributed/distributed_data_parallel.py: 40 M elements, or
/// more where many replicas would otherwise get shards too short for their rings.
constexpr double kBucketElements = 40e6;
constexpr double kBucketElementsPerReplica = 1e6;

double trainable(const workload::ParameterShare& share, bool expert) {
  return expert ? share.trainable_expert : share.trainable_dense;
}

double trainable_narrow(const workload::ParameterShare& share, bool expert) {
  return expert ? share.trainable_narrow_expert : share.trainable_narrow_dense;
}

/// What of a block's elements may end a bucket, in backward order: its matrices, which take what is
/// not a matrix with them, or all of it.
std::vector<double> pieces_of(const workload::Block& block, double elements,
                              const BucketSize& size) {
  const std::vector<double>& shapes = block.weight_shapes;
  if (!size.splits_blocks || shapes.empty()) return {elements};
  std::vector<double> pieces(shapes.rbegin(), shapes.rend());
  const double sum = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  for (double& piece : pieces) piece *= elements / sum;
  return pieces;
}

}  // namespace

double gradient_bytes(const spec::Training& training) {
  return training.gradients_fp32 || training.precision == spec::Precision::kFp32 ? 4 : 2;
}

double parameter_bytes(const spec::Training& training) {
  return training.precision == spec::Precision::kFp32 ? 4 : 2;
}

double sent_bytes(const spec::Training& training, double elements, double narrow) {
  const double saved = workload::sends_fp8_parameters(training) ? 1 : 0;
  return parameter_bytes(training) * elements - saved * narrow;
}

bool reduces_every_micro_batch(const spec::Job& job) {
  // Sharded gradients have no whole buffer that could collect several micro batches.
  return job.parallelism.shards_gradients();
}

bool adds_whole_gradients(const spec::Job& job) {
  return !job.training.reduce_every_micro_batch && job.micro_batches() > 1;
}

BucketSize bucket_size(const spec::Job& job) {
  BucketSize size{.splits_blocks = job.training.framework == spec::Framework::kNanotron};
  if (job.training.bucket_elements > 0) {
    size.elements = job.training.bucket_elements;
    return size;
  }
  const int64_t replicas = rank_group(job, GroupKind::kData).size;
  size.elements =
      std::max(kBucketElements, kBucketElementsPerReplica * static_cast<double>(replicas));
  return size;
}

std::vector<Bucket> gradient_buckets(const spec::Training& training,
                                     const workload::Workload& workload, const Chunk& chunk,
                                     bool expert, const BucketSize& size) {
  std::vector<Bucket> buckets;
  Bucket bucket;
  for (size_t i = chunk.blocks.size(); i-- > 0;) {
    const workload::Block& block = workload.blocks[static_cast<size_t>(chunk.blocks[i])];
    bucket.lowest = i;
    const double all = trainable(block.parameters, expert);
    const double sent = sent_bytes(training, all, trainable_narrow(block.parameters, expert));
    for (const double elements : pieces_of(block, all, size)) {
      bucket.elements += elements;
      bucket.sent_bytes += all > 0 ? sent * (elements / all) : 0;
      if (bucket.elements < size.elements) continue;
      buckets.push_back(bucket);
      bucket.elements = bucket.sent_bytes = 0;
    }
  }
  if (bucket.elements > 0) buckets.push_back(bucket);
  std::ranges::reverse(buckets);
  return buckets;
}

workload::Operator data_collective(const char* name, CollectiveKind kind, GroupKind group,
                                   double elements, double element_bytes) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kCollective;
  op.module = workload::Module::kData;
  op.pass =
      kind == CollectiveKind::kAllGather ? workload::Pass::kForward : workload::Pass::kBackward;
  op.precision = element_bytes == 4   ? spec::Precision::kFp32
                 : element_bytes == 1 ? spec::Precision::kFp8
                                      : spec::Precision::kBf16;
  op.name = name;
  op.collective = kind;
  op.group = group;
  op.comm_bytes = elements * element_bytes;
  return op;
}

workload::PackedReduction gradient_reduction(const spec::Job& job, bool expert, double elements) {
  const bool scatter = job.parallelism.zero_stage >= 1;
  const char* names[2][2] = {{"grad_all_reduce", "grad_reduce_scatter"},
                             {"expert_grad_all_reduce", "expert_grad_reduce_scatter"}};
  const GroupKind group = expert ? GroupKind::kExpertData : GroupKind::kData;
  const double bytes = gradient_bytes(job.training);
  const workload::Operator plain =
      data_collective(names[expert ? 1 : 0][scatter ? 1 : 0],
                      scatter ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, group,
                      elements, bytes);
  const auto ranks = static_cast<double>(rank_group(job, group).size);
  return workload::packed_reduction(spec::gradient_compression(job), plain, elements, bytes, ranks);
}

DataParallel::DataParallel(const spec::Job& job, const workload::Workload& workload,
                           const Stage& stage, int64_t stage_index, OperatorTable& operators,
                           ProgramWriter& writer)
    : job_(job),
      workload_(workload),
      stage_(stage),
      stage_index_(stage_index),
      operators_(operators),
      writer_(writer) {
  const spec::Parallelism& parallel = job.parallelism;
  bucket_size_ = bucket_size(job);
  const bool once_a_step = !reduces_every_micro_batch(job);
  overlap_gradients_ = once_a_step && job.training.overlap_grad_reduce;
  overlap_parameters_ = !parallel.shards_parameters() && parallel.zero_stage >= 1 &&
                        job.training.overlap_param_gather;
  aligned_ = overlap_parameters_ && parallel.pp > 1 && parallel.vpp > 1;
  for (Kind& kind : kinds_) {
    kind.expert = &kind == &kinds_[1];
    kind.active = rank_group(job, kind.expert ? GroupKind::kExpertData : GroupKind::kData).size > 1;
    for (const Chunk& chunk : stage.chunks) make_chain(kind, chunk);
  }
}

void DataParallel::make_chain(Kind& kind, const Chunk& chunk) {
  const std::vector<Bucket> buckets =
      gradient_buckets(job_.training, workload_, chunk, kind.expert, bucket_size_);
  Chain chain;
  // In the order in which backward fills them.
  for (size_t i = buckets.size(); i-- > 0;) {
    SentBucket bucket{.lowest = buckets[i].lowest};
    kind.total += buckets[i].elements;
    kind.sent_bytes += buckets[i].sent_bytes;
    if (kind.active && overlap_gradients_) {
      const workload::PackedReduction packed =
          gradient_reduction(job_, kind.expert, buckets[i].elements);
      if (packed.packing) bucket.pack = operators_.add(packed.packing->pack);
      bucket.reduce = operators_.add(packed.sum);
      if (packed.packing) bucket.unpack = operators_.add(packed.packing->unpack);
    }
    if (kind.active && overlap_parameters_) {
      bucket.gather = gather_op(kind, buckets[i].elements, buckets[i].sent_bytes);
      bucket.event = writer_.new_event();
    }
    chain.buckets.push_back(bucket);
  }
  std::ranges::reverse(chain.buckets);
  kind.chains.push_back(std::move(chain));
}

int32_t DataParallel::gather_op(const Kind& kind, double elements, double bytes) {
  return operators_.add(data_collective(
      kind.expert ? "expert_param_all_gather" : "param_all_gather", CollectiveKind::kAllGather,
      kind.expert ? GroupKind::kExpertData : GroupKind::kData, elements, bytes / elements));
}

void DataParallel::issue_gather(SentBucket& bucket) {
  if (bucket.gather < 0 || bucket.gathered) return;
  writer_.join(Stream::kData, Stream::kCompute);
  writer_.op(Stream::kData, bucket.gather);
  writer_.record(Stream::kData, bucket.event);
  bucket.gathered = true;
}

void DataParallel::gather_chunk(size_t chunk) {
  for (Kind& kind : kinds_) {
    for (SentBucket& bucket : kind.chains[chunk].buckets) issue_gather(bucket);
  }
}

void DataParallel::begin_step() {
  // Megatron-Core starts the gathers of the first two chunks before the first micro batch.
  if (!aligned_) return;
  for (size_t chunk = 0; chunk < std::min<size_t>(2, stage_.chunks.size()); ++chunk)
    gather_chunk(chunk);
}

void DataParallel::before_forward(const std::vector<ScheduleSlot>& forwards, size_t forward_index) {
  if (!aligned_) return;
  // Chunk j + 1 is gathered when stage 0 of the pipeline starts chunk j: later stages run behind by
  // their index.
  const size_t ahead = forward_index + static_cast<size_t>(stage_index_);
  if (ahead >= forwards.size() || forwards[ahead].micro_batch != 0) return;
  const auto next = static_cast<size_t>(forwards[ahead].chunk) + 1;
  if (next > 1 && next < stage_.chunks.size()) gather_chunk(next);
}

void DataParallel::before_block(size_t chunk, size_t index) {
  if (!overlap_parameters_) return;
  for (Kind& kind : kinds_) {
    std::vector<SentBucket>& buckets = kind.chains[chunk].buckets;
    for (size_t i = 0; i < buckets.size(); ++i) {
      if (buckets[i].lowest != index || buckets[i].gather < 0) continue;
      issue_gather(buckets[i]);
      writer_.wait(Stream::kCompute, buckets[i].event, buckets[i].gather);
      if (i + 1 < buckets.size()) issue_gather(buckets[i + 1]);
    }
  }
}

void DataParallel::after_block(size_t chunk, size_t index) {
  if (!overlap_gradients_) return;
  for (Kind& kind : kinds_) {
    for (const SentBucket& bucket : kind.chains[chunk].buckets) {
      if (bucket.lowest != index || bucket.reduce < 0) continue;
      if (bucket.pack >= 0) writer_.op(Stream::kCompute, bucket.pack);
      writer_.join(Stream::kData, Stream::kCompute);
      writer_.op(Stream::kData, bucket.reduce);
    }
  }
}

void DataParallel::finish_gradients() {
  if (reduces_every_micro_batch(job_)) return;
  if (overlap_gradients_) {
    writer_.join(Stream::kCompute, Stream::kData);
    for (const Kind& kind : kinds_)
      for (const Chain& chain : kind.chains)
        for (const SentBucket& bucket : chain.buckets)
          if (bucket.unpack >= 0) writer_.op(Stream::kCompute, bucket.unpack);
    return;
  }
  for (const Kind& kind : kinds_) {
    if (!kind.active || kind.total <= 0) continue;
    const workload::PackedReduction packed = gradient_reduction(job_, kind.expert, kind.total);
    if (packed.packing) writer_.op(Stream::kCompute, operators_.add(packed.packing->pack));
    writer_.op(Stream::kCompute, operators_.add(packed.sum));
    if (packed.packing) writer_.op(Stream::kCompute, operators_.add(packed.packing->unpack));
  }
}

void DataParallel::gather_parameters() {
  if (job_.parallelism.shards_parameters() || overlap_parameters_ ||
      job_.parallelism.zero_stage == 0)
    return;
  for (const Kind& kind : kinds_) {
    if (kind.active && kind.total > 0)
      writer_.op(Stream::kCompute, gather_op(kind, kind.total, kind.sent_bytes));
  }
}

}  // namespace ergometer::plan
