#include "plan/vocabulary.h"

#include <algorithm>

namespace ergometer::plan {
namespace {

using spec::VocabularyPass;
using workload::CollectiveKind;
using workload::Module;
using workload::Pass;
using workload::Stream;

workload::Operator exchange_of(const char* name, CollectiveKind kind, Module module, Pass pass,
                               double bytes) {
  workload::Operator op;
  op.kind = workload::OperatorKind::kCollective;
  op.group = workload::GroupKind::kStages;
  op.collective = kind;
  op.module = module;
  op.pass = pass;
  op.name = name;
  op.comm_bytes = bytes;
  return op;
}

/// How many forwards a backward is as long as.
int64_t forwards_in_backward(const spec::Job& job) {
  return job.training.recompute == spec::Recompute::kFull ? 3 : 2;
}

}  // namespace

VocabularyWork::VocabularyWork(const spec::Job& job, const workload::Workload& workload,
                               int64_t stage, const std::vector<ScheduleSlot>& slots,
                               OperatorTable& operators, ProgramWriter& writer)
    : vocabulary_(workload.vocabulary),
      kind_(job.parallelism.vocabulary),
      stage_(stage),
      stages_(job.parallelism.pp),
      micro_batches_(std::ranges::count(slots, SlotKind::kForward, &ScheduleSlot::kind)),
      writer_(writer) {
  if (!job.parallelism.divides_vocabulary()) return;
  passes_ = spec::vocabulary_order(job.parallelism, stage, slots, forwards_in_backward(job));
  const auto add = [&](Exchange exchange, const char* name, CollectiveKind kind, Module module,
                       Pass pass, double bytes) {
    ops_[exchange] = operators.add(exchange_of(name, kind, module, pass, bytes));
  };
  using enum CollectiveKind;
  const double hidden = workload.boundary_bytes;
  add(kLookedUp, "embedding_reduce", kAllReduce, Module::kEmbedding, Pass::kForward, hidden);
  add(kHidden, "hidden_broadcast", kAllGather, Module::kHead, Pass::kForward, hidden);
  add(kStatistics, "softmax_all_reduce", kAllReduce, Module::kLoss, Pass::kForward,
      vocabulary_.statistics_bytes);
  add(kHiddenGradient, "hidden_grad_reduce", kAllReduce, Module::kHead, Pass::kBackward, hidden);
  add(kLookedUpGradient, "embedding_grad_broadcast", kAllGather, Module::kEmbedding, Pass::kWeight,
      hidden);
}

std::vector<int32_t> VocabularyWork::gatherings(const spec::Job& job, int64_t micro_batches) {
  if (!job.parallelism.divides_vocabulary()) return {};
  std::vector<int32_t> arrivals;
  for (int exchange = 0; exchange < kExchanges; ++exchange) {
    const bool from_one = exchange == kHidden || exchange == kLookedUpGradient;
    arrivals.insert(arrivals.end(), static_cast<size_t>(micro_batches),
                    from_one ? 1 : static_cast<int32_t>(job.parallelism.pp));
  }
  return arrivals;
}

bool VocabularyWork::has_passes(size_t k) const {
  return next_ < passes_.size() && passes_[next_].before <= k;
}

void VocabularyWork::write_passes(size_t k) {
  while (has_passes(k)) write_pass(passes_[next_++]);
}

void VocabularyWork::write_pass(const spec::VocabularySlot& slot) {
  const int32_t micro_batch = slot.micro_batch;
  const bool one_barrier = kind_ == spec::VocabularyParallel::kOneBarrier;
  writer_.at(micro_batch, 0, -1);
  switch (slot.pass) {
    case VocabularyPass::kInput:
      settle(kLookedUp);
      write_items(vocabulary_.input);
      arrive(kLookedUp, micro_batch);
      return leave(kLookedUp, micro_batch);
    case VocabularyPass::kOutput:
      gather(kHidden, micro_batch, !is_last());
      write_items(vocabulary_.output);
      arrive(kStatistics, micro_batch);
      if (one_barrier) arrive(kHiddenGradient, micro_batch);
      return;
    case VocabularyPass::kOutputGradient:
      gather(kStatistics, micro_batch, true);
      if (one_barrier) {
        gather(kHiddenGradient, micro_batch, true);
        return write_items(vocabulary_.output_gradient);
      }
      settle(kHiddenGradient);
      write_items(vocabulary_.output_gradient);
      arrive(kHiddenGradient, micro_batch);
      return leave(kHiddenGradient, micro_batch);
    case VocabularyPass::kInputGradient:
      gather(kLookedUpGradient, micro_batch, true);
      return write_items(vocabulary_.input_gradient);
  }
}

void VocabularyWork::before(const ScheduleSlot& slot) {
  const bool forward = slot.kind == SlotKind::kForward;
  const Exchange needed = forward ? kLookedUp : kHiddenGradient;
  if (passes_.empty() || (forward ? stage_ != 0 : !is_last())) return;
  if (left_[needed] != slot.micro_batch) return;
  left_[needed].reset();
  gather(needed, slot.micro_batch, true);
}

void VocabularyWork::after(const ScheduleSlot& slot) {
  if (passes_.empty()) return;
  const bool forward = slot.kind == SlotKind::kForward;
  if (forward && is_last()) arrive(kHidden, slot.micro_batch);
  if (!forward && stage_ == 0) arrive(kLookedUpGradient, slot.micro_batch);
}

void VocabularyWork::finish() {
  if (passes_.empty()) return;
  settle(kLookedUp);
  settle(kHiddenGradient);
  writer_.join(Stream::kCompute, Stream::kVocabulary);
}

void VocabularyWork::write_items(const std::vector<workload::Item>& items) {
  for (const workload::Item& item : items) {
    if (item.kind == workload::Item::Kind::kJoin)
      writer_.join(item.stream, item.on);
    else
      writer_.op(item.stream, item.op);
  }
}

void VocabularyWork::arrive(Exchange exchange, int32_t micro_batch) {
  writer_.arrive(static_cast<int32_t>(exchange * micro_batches_ + micro_batch));
}

void VocabularyWork::gather(Exchange exchange, int32_t micro_batch, bool joins) {
  const bool in_line = kind_ == spec::VocabularyParallel::kInterlaced;
  const Stream lane = in_line ? Stream::kCompute : Stream::kVocabulary;
  const auto gathering = static_cast<int32_t>(exchange * micro_batches_ + micro_batch);
  writer_.at(micro_batch, 0, -1);
  writer_.gather(lane, ops_[exchange], gathering);
  if (joins && !in_line) writer_.join(Stream::kCompute, lane);
}

void VocabularyWork::leave(Exchange exchange, int32_t micro_batch) {
  if (kind_ == spec::VocabularyParallel::kInterlaced) return gather(exchange, micro_batch, true);
  left_[exchange] = micro_batch;
}

void VocabularyWork::settle(Exchange exchange) {
  if (!left_[exchange]) return;
  const int32_t micro_batch = *left_[exchange];
  left_[exchange].reset();
  gather(exchange, micro_batch, false);
}

}  // namespace ergometer::plan
