#pragma once

#include "engine/outcome/summary.h"
#include "plan/stages.h"
#include "workload/workload.h"

namespace ergometer::report {

/// What a job needs in memory, as `simulate` tells it, without its times.
inline run::Memory memory_of(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  return engine::memory_summary(job, plan::memory(job, workload, plan::divide(job, workload)));
}

}  // namespace ergometer::report
