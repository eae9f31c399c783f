#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"

namespace ergometer::campaign {

/// One kind of what interrupts a training run.
struct FailureKind {
  std::string name;        ///< "node"
  double share = 0;        ///< of all interruptions; the kinds' shares add up to 1
  double detection_s = 0;  ///< until it is known that training stands
  double restart_s = 0;    ///< until it trains again, besides reading the checkpoint
  double repair_s = 0;     ///< how long the node is away; 0: the same nodes go on
  bool takes_node() const { return repair_s > 0; }
};

/// How often a run is interrupted, and by what.
struct Failures {
  double per_gpu_hour = 0;  ///< interruptions of a job, over its GPUs and hours
  double spread = 1;        ///< the true rate lies within this factor, 90 %
  std::vector<FailureKind> kinds;
  base::Grade grade = base::Grade::kAssumed;  ///< of the rate
  std::string source;                         ///< of the rate
  bool given = false;                         ///< by the user, as a time between failures

  bool any() const { return per_gpu_hour > 0; }
};

/// A table with the columns kind, term, value, source, grade. Of the kind "all": per_gpu_hour, and
/// spread if it is not 1; of every other kind: share, detection, restart, and repair where a node
/// is taken out. What is wrong is an input error with file and line.
Result<Failures> parse_failures(std::string_view csv, const std::string& file);
/// `catalog/tables/failures.csv`.
Failures catalog_failures();

/// The same kinds where a GPU, with its share of its node, is interrupted once in `mtbf_s`: known,
/// so that nothing is spread.
Failures with_mtbf(Failures failures, double mtbf_s);

}  // namespace ergometer::campaign
