#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/schedule.h"
#include "plan/writer.h"
#include "spec/job/vocabulary_order.h"

namespace ergometer::plan {

/// The work of one stage on its part of a vocabulary that is divided over the stages, written
/// between the slots of its schedule (`spec::vocabulary_order`), and what the stages exchange for
/// it, ranks of equal index with each other (`GroupKind::kStages`):
///
///   before a forward on stage 0       sum of what the stages have looked up
///   behind a forward on the last      the hidden states, to all
///   behind the first output pass      maximum, sum and the target's logit of every token
///   and behind the pass that makes it the sum of the hidden states' gradient, for the last stage
///   behind a backward on stage 0      the gradient of what was looked up, to all
///
/// In line where the vocabulary is interlaced. Else on a stream of their own: an exchange begins
/// when all that contribute have arrived (kArrive), and stands in a program where it is waited for;
/// of whom its result is no concern, before the next one of its kind. What goes from one to all is
/// priced as an all-gather of as many bytes, which puts (p - 1) / p of them on every link.
class VocabularyWork {
 public:
  VocabularyWork(const spec::Job& job, const workload::Workload& workload, int64_t stage,
                 const std::vector<ScheduleSlot>& slots, OperatorTable& operators,
                 ProgramWriter& writer);

  /// Whether there are passes before slot `k`, or of their number behind all.
  bool has_passes(size_t k) const;
  void write_passes(size_t k);
  /// What a slot waits for, and what others wait for behind it.
  void before(const ScheduleSlot& slot);
  void after(const ScheduleSlot& slot);
  /// What nobody on this stage has waited for.
  void finish();

  /// Of every gathering of a plan how many roles arrive; empty where no vocabulary is divided.
  static std::vector<int32_t> gatherings(const spec::Job& job, int64_t micro_batches);

 private:
  enum Exchange { kLookedUp, kHidden, kStatistics, kHiddenGradient, kLookedUpGradient };
  static constexpr int kExchanges = 5;

  void write_pass(const spec::VocabularySlot& pass);
  void write_items(const std::vector<workload::Item>& items);
  void arrive(Exchange exchange, int32_t micro_batch);
  /// Writes the exchange, and if `joins` holds the compute stream back until it is over.
  void gather(Exchange exchange, int32_t micro_batch, bool joins);
  /// The same for one whose result is no concern of this stage: later.
  void leave(Exchange exchange, int32_t micro_batch);
  void settle(Exchange exchange);
  bool is_last() const { return stage_ + 1 == stages_; }

  const workload::Vocabulary& vocabulary_;
  spec::VocabularyParallel kind_;
  int64_t stage_, stages_, micro_batches_;
  ProgramWriter& writer_;
  std::vector<spec::VocabularySlot> passes_;
  size_t next_ = 0;  ///< of `passes_`
  std::array<int32_t, kExchanges> ops_{};
  std::array<std::optional<int32_t>, kExchanges> left_;  ///< micro batches
};

}  // namespace ergometer::plan
