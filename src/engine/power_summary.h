#pragma once

#include "engine/power_record.h"
#include "engine/powered.h"
#include "engine/step_profile.h"

namespace ergometer::engine {

/// What the summary is made of.
struct PowerContext {
  const spec::Job& job;
  const Fleet& fleet;
  const StepActivity& activity;
  const PowerRecord& record;
  double shut_down = 0;  ///< GPUs at the temperature where hardware turns them off
  bool settled = true;   ///< clocks and temperatures came to rest
  bool ranks = false;    ///< fill the columns of every rank
};

/// Fills power, cluster_power, thermal and the ranks' columns of `result`. `step`: the last one.
void summarise_power(const PowerContext& context, const FleetStep& step, const StepProfile& profile,
                     Powered& result);

}  // namespace ergometer::engine
