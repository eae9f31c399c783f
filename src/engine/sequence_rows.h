#pragma once

#include <vector>

#include "base/result.h"
#include "engine/simulate.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// What documents of unlike length cost, by playing `workload::kDrawnSteps` drawn steps:
/// `run::Run::sequences`. The job as it was played; the same with its work in equal parts over
/// replicas and micro batches, where nobody waits; and with every setting that would wait or pad
/// less, where the job has it otherwise. Empty of a job whose documents are alike.
base::Result<std::vector<run::SequenceRow>> sequence_rows(const spec::Job& job,
                                                          const Simulation& played);

}  // namespace ergometer::engine
