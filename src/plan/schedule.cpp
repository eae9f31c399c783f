#include "plan/schedule.h"

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

}  // namespace ergometer::plan
