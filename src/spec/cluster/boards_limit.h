#pragma once

#include "spec/job/node_groups.h"

namespace ergometer::spec {

/// Whether the job's power cap is the limit that all its GPUs have anyway.
inline bool cap_is_boards_limit(const Job& job) {
  for (size_t group = 0; group < group_count(job.cluster); ++group)
    if (node_of_group(job.cluster, group).gpu.parameters.value_or("tdp", 0) !=
        job.conditions.power_cap_w)
      return false;
  return job.conditions.power_cap_w > 0;
}

}  // namespace ergometer::spec
