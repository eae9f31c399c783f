#pragma once

#include <string>

#include "plan/placement.h"
#include "spec/job/job.h"
#include "workload/operator.h"

namespace ergometer::report {

/// How the two parts of a collective's price follow from its buffer, its ranks and the catalog's
/// numbers; as src/cost works them out, in symbols, for one operator on one group.
struct CollectiveFormulas {
  std::string latency;   ///< s
  std::string transfer;  ///< s
};

/// `low_latency`: the protocol that the model chose for the operator. More than one rank.
CollectiveFormulas collective_formulas(const spec::Job& job, const workload::Operator& op,
                                       const plan::GroupPlacement& where, bool low_latency);

}  // namespace ergometer::report
