#pragma once

#include "plan/plan.h"
#include "run/run.h"
#include "spec/collective/algorithm.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// Says in the Run's facts which collectives run the algorithms that the job's nodes are given
/// (`collectives_from`), a line an algorithm, and widens the step's interval where any does: no run
/// of such a file was ever seen. What the step waits for collectives of these kinds may be a third
/// shorter or half as long again (assumed).
void add_given_algorithms(const spec::Job& job, const plan::Plan& plan, run::Run& run);

/// The step's 90 % interval over the one predicted, of which `exposed_s` may be so much shorter or
/// longer. Worked: 3 s of 10: 0.9 to 1.15.
run::Interval given_algorithms_spread(double exposed_s, double step_s);

/// The bytes that all GPUs send by the algorithm over the least that GPUs alone can do with, which
/// is what a ring or an exchange sends. Worked: 4 GPUs that each send all they have to 3 others, to
/// add it up: 12 buffers, of a ring 2 x 3: 2.
double sent_over_least(const spec::Algorithm& algorithm);

}  // namespace ergometer::engine
