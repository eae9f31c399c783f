#pragma once

#include "campaign/campaign.h"

namespace ergometer::campaign {

/// What interrupts the job, with the reading of its checkpoint in every restart.
Outages outages_of(const Training& training, const Ask& ask);

/// How the run is kept: sizes, and the interval that the user gives or that is best in closed form.
/// `work_s`: of the whole run. An input error: given shorter than a hidden write takes.
Result<Kept> keep_checkpoints(const Training& training, const Ask& ask, double work_s);

/// The rhythm of `work_s` in as many intervals.
Rhythm rhythm_of(const Kept& kept, double work_s, int64_t intervals);

}  // namespace ergometer::campaign
