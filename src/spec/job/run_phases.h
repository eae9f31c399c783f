#pragma once

#include <string_view>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// Reads "steps=384,eval-every=48,eval-from=192,eval-batches=22,eval-pause=2s,pause=27s";
/// `length=5min` in place of steps. The error has no place: `evry is not known; ...`.
Result<RunPhases> parse_run_phases(std::string_view text);

}  // namespace ergometer::spec
