#include "plan/schedule.h"

#include <algorithm>
#include <cstddef>

#include "spec/job/stage_order.h"

namespace ergometer::plan {

bool forward_only(const spec::Job& job) {
  return job.training.mode == spec::Mode::kPrefill || job.training.mode == spec::Mode::kDecode;
}

int64_t group_size(const spec::Job& job, int64_t micro_batches) {
  return spec::group_size(job.parallelism, micro_batches);
}

int64_t warm_up_forwards(const spec::Job& job, int64_t stage, int64_t micro_batches) {
  if (forward_only(job)) return micro_batches * job.parallelism.vpp;
  return spec::warm_up_forwards(job.parallelism, stage, micro_batches);
}

std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage) {
  return schedule(job, stage, job.micro_batches());
}

std::vector<ScheduleSlot> schedule(const spec::Job& job, int64_t stage, int64_t micro_batches) {
  if (forward_only(job)) return spec::forward_order(job.parallelism, micro_batches);
  return spec::stage_order(job.parallelism, stage, micro_batches);
}

InFlight in_flight(const std::vector<ScheduleSlot>& slots, int64_t chunks) {
  const bool no_backward = std::ranges::all_of(
      slots, [](const ScheduleSlot& s) { return s.kind == SlotKind::kForward; });
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
