#include "plan/schedule.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace ergometer::plan {
namespace {

/// Virtual micro batches in the order Megatron-Core walks them: micro batches in groups of `group`;
/// every group goes through chunk 0, then chunk 1, and so on. The last group may be smaller.
std::vector<ScheduleSlot> table_of_groups(int64_t micro_batches, int64_t chunks, int64_t group,
                                          SlotKind kind) {
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
                                      const std::vector<ScheduleSlot>& backward, size_t ahead) {
  const size_t total = forward.size();
  std::vector<ScheduleSlot> slots(forward.begin(),
                                  forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  slots.reserve(2 * total);
  for (size_t i = ahead; i < total; ++i) {
    slots.push_back(forward[i]);
    slots.push_back(backward[i - ahead]);
  }
  slots.insert(slots.end(), backward.end() - static_cast<std::ptrdiff_t>(ahead), backward.end());
  return slots;
}

/// Zero-bubble H1 (arXiv 2401.10241): 1F1B whose weight gradients are put off. Stage r holds p - r
/// micro batches before its first backward; it may hold p, so the weight gradient of micro batch i
/// runs behind the input gradient of micro batch i + r, and the last r of them fill the end of the
/// step.
std::vector<ScheduleSlot> zero_bubble_h1(const std::vector<ScheduleSlot>& one_f_one_b_slots,
                                         int64_t stage) {
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

/// GPipe runs every micro batch through before it turns back: one group of all.
int64_t group_size(const spec::Job& job, int64_t micro_batches) {
  const spec::Parallelism& parallel = job.parallelism;
  if (parallel.schedule == spec::Schedule::kGpipe) return micro_batches;
  return parallel.microbatch_group > 0 ? parallel.microbatch_group : parallel.pp;
}

bool forward_only(const spec::Job& job) {
  return job.training.mode == spec::Mode::kPrefill || job.training.mode == spec::Mode::kDecode;
}

int64_t warm_up_forwards(const spec::Job& job, int64_t stage, int64_t micro_batches) {
  const spec::Parallelism& parallel = job.parallelism;
  const int64_t total = micro_batches * parallel.vpp, behind = parallel.pp - stage - 1;
  if (forward_only(job) || parallel.schedule == spec::Schedule::kGpipe) return total;
  const int64_t ahead =
      parallel.vpp > 1 ? 2 * behind + (parallel.vpp - 1) * group_size(job, micro_batches) : behind;
  return std::min(ahead, total);
}

std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage) {
  return schedule(job, stage, job.micro_batches());
}

std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage, int64_t micro_batches) {
  const int64_t chunks = job.parallelism.vpp, group = group_size(job, micro_batches);
  const bool zero_bubble = job.parallelism.schedule == spec::Schedule::kZbH1;
  ERGOMETER_CHECK(!zero_bubble || chunks == 1, "ZB-H1 has one chunk a stage");

  std::vector<ScheduleSlot> forward =
      table_of_groups(micro_batches, chunks, group, SlotKind::kForward);
  if (forward_only(job)) return forward;
  const std::vector<ScheduleSlot> backward =
      table_of_groups(micro_batches, chunks, group, SlotKind::kBackward);
  const std::vector<ScheduleSlot> slots = one_f_one_b(
      forward, backward, static_cast<size_t>(warm_up_forwards(job, stage, micro_batches)));
  return zero_bubble ? zero_bubble_h1(slots, stage) : slots;
}

InFlight in_flight(const std::vector<ScheduleSlot>& slots, int64_t chunks) {
  const bool no_backward = std::all_of(slots.begin(), slots.end(), [](const ScheduleSlot& s) {
    return s.kind == SlotKind::kForward;
  });
  std::vector<int64_t> alive(static_cast<size_t>(chunks), 0);
  InFlight most{0, alive};
  int64_t total = 0;
  for (const ScheduleSlot& slot : slots) {
    int64_t& of_chunk = alive[static_cast<size_t>(slot.chunk)];
    if (slot.kind == SlotKind::kForward) {
      ++of_chunk;
      if (++total > most.total) most = {total, alive};
    }
    const bool frees =
        no_backward || slot.kind == SlotKind::kBackward || slot.kind == SlotKind::kBackwardWeight;
    if (frees) {
      --of_chunk;
      --total;
    }
  }
  return most;
}

}  // namespace ergometer::plan
