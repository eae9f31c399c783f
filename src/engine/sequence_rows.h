#pragma once

#include <vector>

#include "base/result.h"
#include "engine/simulate.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// What documents of unlike length, or samples of unlike images, cost, by playing
/// `workload::kDrawnSteps` drawn steps: `run::Run::sequences`. The job as it was played; the same
/// with its work in equal parts over replicas and micro batches, where nobody waits; and with every
/// setting that would wait or pad less, where the job has it otherwise. Of a model with a vision
/// tower also the job with stages of equal work, and without recomputation. Empty of a job whose
/// documents are alike.
Result<std::vector<run::SequenceRow>> sequence_rows(const spec::Job& job, const Simulation& played);

/// The mean over those drawn steps, seconds: what a run takes of a job whose own step is only the
/// one nearest to it. Of a job whose documents are alike its step.
double mean_step_s(const spec::Job& job, const Simulation& played);

/// How the samples of the job, and of the same with other packing, lie in micro batches:
/// `run::Run::packing`. Empty of samples without images.
std::vector<run::PackingRow> packing_rows(const spec::Job& job);

}  // namespace ergometer::engine
