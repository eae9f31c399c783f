#include "plan/schedule.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace ergometer::plan {
namespace {

/// Virtual micro batches in the order Megatron-Core walks them: micro batches in groups of `group`; every group
/// goes through chunk 0, then chunk 1, and so on. The last group may be smaller.
std::vector<ScheduleSlot> table_of_groups(int64_t micro_batches, int64_t chunks, int64_t group, SlotKind kind) {
  std::vector<ScheduleSlot> table;
  table.reserve(static_cast<size_t>(micro_batches * chunks));
  for (int64_t first = 0; first < micro_batches; first += group) {
    const int64_t last = std::min(first + group, micro_batches);
    for (int64_t i = 0; i < chunks; ++i) {
      // Backward walks the same table with the chunk index reversed.
      const int64_t chunk = kind == SlotKind::kForward ? i : chunks - 1 - i;
      for (int64_t micro_batch = first; micro_batch < last; ++micro_batch) {
        table.push_back({kind, static_cast<int32_t>(micro_batch), static_cast<int32_t>(chunk)});
      }
    }
  }
  return table;
}

/// Warm-up forwards, then one forward and one backward in turn, then the backwards that are left.
std::vector<ScheduleSlot> one_f_one_b(const std::vector<ScheduleSlot>& forward,
                                      const std::vector<ScheduleSlot>& backward, int64_t warm_up) {
  const size_t total = forward.size();
  const size_t ahead = std::min(static_cast<size_t>(warm_up), total);
  std::vector<ScheduleSlot> slots(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  slots.reserve(2 * total);
  for (size_t i = ahead; i < total; ++i) {
    slots.push_back(forward[i]);
    slots.push_back(backward[i - ahead]);
  }
  slots.insert(slots.end(), backward.end() - static_cast<std::ptrdiff_t>(ahead), backward.end());
  return slots;
}

/// Zero-bubble H1 (arXiv 2401.10241): 1F1B whose weight gradients are put off. Stage r holds p - r micro batches
/// before its first backward; it may hold p, so the weight gradient of micro batch i runs behind the input
/// gradient of micro batch i + r, and the last r of them fill the end of the step.
std::vector<ScheduleSlot> zero_bubble_h1(const std::vector<ScheduleSlot>& one_f_one_b_slots, int64_t stage) {
  std::vector<ScheduleSlot> slots, weights;
  for (const ScheduleSlot& slot : one_f_one_b_slots) {
    if (slot.kind == SlotKind::kForward) {
      slots.push_back(slot);
      continue;
    }
    slots.push_back({SlotKind::kBackwardInput, slot.micro_batch, slot.chunk});
    weights.push_back({SlotKind::kBackwardWeight, slot.micro_batch, slot.chunk});
    const auto held_back = static_cast<int64_t>(weights.size()) - 1 - stage;
    if (held_back >= 0) slots.push_back(weights[static_cast<size_t>(held_back)]);
  }
  const auto left = std::min<int64_t>(stage, static_cast<int64_t>(weights.size()));
  slots.insert(slots.end(), weights.end() - left, weights.end());
  return slots;
}

}  // namespace

std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage) {
  const spec::Parallelism& parallel = job.parallelism;
  const int64_t micro_batches = job.micro_batches();
  const int64_t stages = parallel.pp, chunks = parallel.vpp;
  const bool gpipe = parallel.schedule == spec::Schedule::kGpipe;
  // GPipe runs every micro batch through before it turns back: one group of all.
  const int64_t asked = parallel.microbatch_group > 0 ? parallel.microbatch_group : stages;
  const int64_t group = gpipe ? micro_batches : asked;

  std::vector<ScheduleSlot> forward = table_of_groups(micro_batches, chunks, group, SlotKind::kForward);
  const spec::Mode mode = job.training.mode;
  if (mode == spec::Mode::kPrefill || mode == spec::Mode::kDecode) return forward;

  const std::vector<ScheduleSlot> backward =
      table_of_groups(micro_batches, chunks, group, SlotKind::kBackward);
  const auto total = static_cast<int64_t>(forward.size());
  if (gpipe) return one_f_one_b(forward, backward, total);
  if (chunks > 1) {
    ERGOMETER_CHECK(parallel.schedule != spec::Schedule::kZbH1, "ZB-H1 has one chunk a stage");
    return one_f_one_b(forward, backward, 2 * (stages - stage - 1) + (chunks - 1) * group);
  }
  const std::vector<ScheduleSlot> slots = one_f_one_b(forward, backward, stages - stage - 1);
  return parallel.schedule == spec::Schedule::kZbH1 ? zero_bubble_h1(slots, stage) : slots;
}

InFlight in_flight(const std::vector<ScheduleSlot>& slots, int64_t chunks) {
  const bool forward_only =
      std::all_of(slots.begin(), slots.end(), [](const ScheduleSlot& s) { return s.kind == SlotKind::kForward; });
  std::vector<int64_t> alive(static_cast<size_t>(chunks), 0);
  InFlight most{0, alive};
  int64_t total = 0;
  for (const ScheduleSlot& slot : slots) {
    int64_t& of_chunk = alive[static_cast<size_t>(slot.chunk)];
    if (slot.kind == SlotKind::kForward) {
      ++of_chunk;
      if (++total > most.total) most = {total, alive};
    }
    const bool frees = forward_only || slot.kind == SlotKind::kBackward || slot.kind == SlotKind::kBackwardWeight;
    if (frees) {
      --of_chunk;
      --total;
    }
  }
  return most;
}

}  // namespace ergometer::plan
