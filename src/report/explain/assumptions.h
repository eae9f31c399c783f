#pragma once

#include <vector>

#include "run/detail.h"
#include "spec/job/job.h"

namespace ergometer::report {

/// Everything a prediction rests on: every setting with where it came from, then the numbers of the
/// catalog (or of the user's files) about GPU, node, fabric and software with their sources and
/// grades. Of ways of cooling only the one in use.
std::vector<run::Assumption> assumptions(const spec::Job& job);

}  // namespace ergometer::report
