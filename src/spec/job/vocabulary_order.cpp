#include "spec/job/vocabulary_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "spec/job/stage_order.h"

namespace ergometer::spec {
namespace {

using Slots = std::vector<ScheduleSlot>;
using Order = std::vector<VocabularySlot>;

constexpr int64_t kNotYet = std::numeric_limits<int64_t>::max() / 2;
constexpr int kPasses = 4;
/// Which pass goes first where several can.
constexpr VocabularyPass kByUrgency[kPasses] = {
    VocabularyPass::kOutput, VocabularyPass::kOutputGradient, VocabularyPass::kInput,
    VocabularyPass::kInputGradient};

/// How far all stages are with one pass over a micro batch.
struct Together {
  int64_t missing = 0, latest = 0;
  void add(int64_t now) { --missing, latest = std::max(latest, now); }
  int64_t done() const { return missing > 0 ? kNotYet : latest; }
};

/// A step of F = 1, B = `backward` and passes without length: at every moment each idle stage runs
/// all passes whose input is there, then the next slot of its 1F1B if its is. What a barrier brings
/// is there 1 later.
class UnitStep {
 public:
  UnitStep(const Parallelism& parallel, int64_t micro_batches, int64_t backward)
      : stages_(parallel.pp),
        micro_batches_(micro_batches),
        backward_(backward),
        two_barriers_(parallel.vocabulary == VocabularyParallel::kTwoBarriers),
        stage_(static_cast<size_t>(stages_)) {
    const auto batches = static_cast<size_t>(micro_batches);
    passes_.assign(kPasses, std::vector<Together>(batches, {stages_, 0}));
    for (int64_t s = 0; s < stages_; ++s) {
      at(s).slots = stage_order(parallel, s, micro_batches);
      at(s).forward_end.assign(batches, kNotYet);
      at(s).backward_end.assign(batches, kNotYet);
    }
  }

  /// The passes of stage `wanted`.
  Order run(int64_t wanted) {
    const int64_t all = stages_ * micro_batches_ * kPasses;
    for (int64_t now = 0; passes_done_ < all; ++now) {
      ERGOMETER_CHECK(now <= kMostUnits * (micro_batches_ + stages_), "the step comes to its end");
      for (bool moved = true; moved;) {
        moved = false;
        for (int64_t s = 0; s < stages_; ++s) moved |= advance(s, now);
      }
    }
    return std::move(at(wanted).order);
  }

 private:
  static constexpr int64_t kMostUnits = 16;  ///< far more than a micro batch takes
  struct Stage {
    Slots slots;
    std::vector<int64_t> forward_end, backward_end;  ///< by micro batch
    std::array<int32_t, kPasses> next{};             ///< micro batch, by pass
    size_t position = 0;                             ///< in `slots`
    int64_t free = 0;
    Order order;
  };
  Stage& at(int64_t stage) { return stage_[static_cast<size_t>(stage)]; }
  Together& all_of(VocabularyPass pass, int64_t micro_batch) {
    return passes_[static_cast<size_t>(pass)][static_cast<size_t>(micro_batch)];
  }
  int64_t last() const { return stages_ - 1; }

  /// Lets the stage do one thing, if it can.
  bool advance(int64_t s, int64_t now) {
    if (at(s).free > now) return false;
    for (const VocabularyPass pass : kByUrgency)
      if (run_pass(s, pass, now)) return true;
    return run_slot(s, now);
  }

  bool run_pass(int64_t s, VocabularyPass pass, int64_t now) {
    int32_t& next = at(s).next[static_cast<size_t>(pass)];
    if (next == micro_batches_ || input_of(pass, next) > now) return false;
    at(s).order.push_back({pass, next, at(s).position});
    all_of(pass, next++).add(now);
    ++passes_done_;
    return true;
  }

  bool run_slot(int64_t s, int64_t now) {
    Stage& stage = at(s);
    if (stage.position == stage.slots.size()) return false;
    const ScheduleSlot& slot = stage.slots[stage.position];
    const bool forward = slot.kind == SlotKind::kForward;
    const auto j = static_cast<size_t>(slot.micro_batch);
    if ((forward ? forward_input(s, j) : backward_input(s, j)) > now) return false;
    stage.free = now + (forward ? 1 : backward_);
    (forward ? stage.forward_end : stage.backward_end)[j] = stage.free;
    ++stage.position;
    return true;
  }

  int64_t input_of(VocabularyPass pass, int64_t micro_batch) {
    const auto j = static_cast<size_t>(micro_batch);
    switch (pass) {
      case VocabularyPass::kInput: break;
      case VocabularyPass::kOutput: return at(last()).forward_end[j] + slack(micro_batch);
      case VocabularyPass::kOutputGradient:
        return all_of(VocabularyPass::kOutput, micro_batch).done() + 1;
      case VocabularyPass::kInputGradient: return at(0).backward_end[j] + 1;
    }
    // Words are looked up one micro batch ahead, when stage 0 begins the one before.
    return j < 2 ? 0 : at(0).forward_end[j - 1] - 1;
  }
  /// Behind the last stage's warm-up the barriers leave passes room to be late or early in, so that
  /// stages do not wait in them where backwards are a little shorter or longer.
  int64_t slack(int64_t micro_batch) const { return micro_batch > (two_barriers_ ? 2 : 1) ? 1 : 0; }
  int64_t forward_input(int64_t s, size_t j) {
    if (s > 0) return at(s - 1).forward_end[j];
    return all_of(VocabularyPass::kInput, static_cast<int64_t>(j)).done();
  }
  int64_t backward_input(int64_t s, size_t j) {
    if (s < last()) return at(s + 1).backward_end[j];
    const auto pass = two_barriers_ ? VocabularyPass::kOutputGradient : VocabularyPass::kOutput;
    return all_of(pass, static_cast<int64_t>(j)).done() + 1;
  }

  int64_t stages_, micro_batches_, backward_;
  bool two_barriers_;
  std::vector<Stage> stage_;
  std::vector<std::vector<Together>> passes_;
  int64_t passes_done_ = 0;
};

/// The interval in which a stage of `kInterlaced` runs a slot, and that at whose begin the
/// vocabulary has the last stage's first forward.
int64_t interlaced_turn(int64_t stages) { return (stages - 1) / 2 + 1; }
int64_t interval_of(int64_t stages, int64_t stage, const ScheduleSlot& slot) {
  const bool forward = slot.kind == SlotKind::kForward;
  const int64_t first = forward ? stage / 2 : interlaced_turn(stages) + stages - 1 - stage;
  return first + slot.micro_batch;
}

Order interlaced(int64_t stages, int64_t stage, const Slots& slots, int64_t micro_batches) {
  const int64_t turn = interlaced_turn(stages);
  Order order;
  size_t before = 0;
  for (int64_t interval = 0; interval <= micro_batches + turn + stages; ++interval) {
    while (before < slots.size() && interval_of(stages, stage, slots[before]) < interval) ++before;
    const auto add = [&](VocabularyPass pass, int64_t micro_batch) {
      if (micro_batch >= 0 && micro_batch < micro_batches)
        order.push_back({pass, static_cast<int32_t>(micro_batch), before});
    };
    add(VocabularyPass::kInput, interval);
    add(VocabularyPass::kOutput, interval - turn);
    add(VocabularyPass::kOutputGradient, interval - turn);
    add(VocabularyPass::kInputGradient, interval - turn - stages);
  }
  return order;
}

}  // namespace

std::string_view why_vocabulary_is_whole(const Job& job) {
  const Parallelism& p = job.parallelism;
  if (p.pp == 1) return "needs --pp above 1";
  if (p.schedule != Schedule::kOneFOneB) return "needs --schedule 1f1b";
  if (!p.order.stages.empty()) return "has passes that a schedule file does not say";
  if (job.training.mode != Mode::kPretrain) return "is for pre-training alone";
  if (p.shards_gradients()) return "needs parameters that stay: --zero 0 or 1";
  if (job.training.linear_cross_entropy) return "has no loss fused with the head's product";
  if (!job.training.sequence_lengths.is_even()) return "needs --sequence-lengths even";
  if (job.model.vision != nullptr) return "is not defined with a vision tower";
  if (job.model.mtp_layers > 0) return "is not defined with multi-token prediction";
  if (job.model.embedding_dim > 0 && job.model.embedding_dim != job.model.hidden)
    return "needs an embedding as wide as the layers";
  return {};
}

int64_t vocabulary_barriers(VocabularyParallel vocabulary) {
  return vocabulary == VocabularyParallel::kOneBarrier    ? 1
         : vocabulary == VocabularyParallel::kTwoBarriers ? 2
                                                          : 0;
}

std::vector<VocabularySlot> vocabulary_order(const Parallelism& parallel, int64_t stage,
                                             const std::vector<ScheduleSlot>& slots,
                                             int64_t backward) {
  const auto micro_batches = std::ranges::count(slots, SlotKind::kForward, &ScheduleSlot::kind);
  if (parallel.vocabulary == VocabularyParallel::kInterlaced)
    return interlaced(parallel.pp, stage, slots, micro_batches);
  return UnitStep(parallel, micro_batches, backward).run(stage);
}

std::vector<ScheduleSlot> interlaced_order(int64_t stages, int64_t stage, int64_t micro_batches) {
  Slots slots;
  for (int j = 0; j < micro_batches; ++j) {
    slots.push_back({SlotKind::kForward, j, 0});
    slots.push_back({SlotKind::kBackward, j, 0});
  }
  const bool backward_first = stage % 2 == 1;
  const auto when = [&](const ScheduleSlot& slot) {
    const bool second = (slot.kind == SlotKind::kBackward) != backward_first;
    return std::pair(interval_of(stages, stage, slot), second);
  };
  std::ranges::sort(slots, {}, when);
  return slots;
}

}  // namespace ergometer::spec
