#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// The `simulate` commands that somebody who knows what the rows say would type, and nothing more:
/// the model, the catalog's node with the row's GPU and network, the sizes, and the framework with
/// its release. No blank is filled and no contradiction mended. A line each behind its id, and
/// `{commands [ { id, command, reason } ]}`, where one of the two is null.
std::string commands_text(const std::vector<MeasuredRun>& rows);
std::string commands_json(const std::vector<MeasuredRun>& rows);

}  // namespace ergometer::validation
