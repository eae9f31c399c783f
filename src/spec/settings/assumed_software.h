#pragma once

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// `changed` is the job `base` with changes. Where neither names its software, it is taken to run
/// under what `base` is assumed to, so that the two differ in what was changed; unless only other
/// software has what was changed, or what it makes is no job.
Result<void> keep_assumed_software(const Settings& base, Settings& changed);

}  // namespace ergometer::spec
