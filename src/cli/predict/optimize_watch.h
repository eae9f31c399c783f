#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/twin/board_changes.h"
#include "cli/console/command.h"
#include "spec/job/job.h"

namespace ergometer::cli {

/// What a plan is made of, and why.
struct PlanCause {
  int64_t number = 1;
  int64_t time_ns = 0;  ///< of the last reading
  double readings_s = 0;
  std::vector<calibration::twin::BoardChange> changes;  ///< none of the first
};

/// A plan, or the advice to leave things as they are.
struct WatchedPlan {
  bool keeps = true;
  std::string verdict;  ///< in a line
  std::string text;     ///< for people
  std::string json;     ///< the document of --json
};
using MakePlan =
    std::function<Result<WatchedPlan>(const run::DeviceLog& log, const PlanCause& cause)>;

/// Flags of `optimize --watch`.
void add_watch_flags(std::vector<Flag>& flags);
/// What the flags say that does not go together, before anything is read.
Result<void> check_watch(const Arguments& arguments);

/// Follows the Run of --from as it grows: makes a plan when two minutes of the job at work were
/// read and its temperatures settled (or three times as long), and a new one when a change of its
/// boards stays. Tells a new plan where it gains more than keeping what there is, else that the old
/// one stands. Ends when the Run is closed or its writer is gone for a minute; after a signal with
/// the status that a shell gives of it. Input errors: no such Run, or of another job; no plan could
/// be made of it.
Result<int> watch_plans(const Arguments& arguments, const spec::Job& job, const MakePlan& make,
                        const Console& console);

}  // namespace ergometer::cli
