#pragma once

#include "base/result.h"
#include "study/proxy/proxy.h"

namespace ergometer::study::proxy {

/// Simulates a job and measures it; without power and heat where `constant_clocks`.
Result<Side> measured(const spec::Job& job, bool constant_clocks);

}  // namespace ergometer::study::proxy
