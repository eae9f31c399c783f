#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "validation/rows/measured_run.h"

namespace ergometer::validation {

/// The `simulate` command that somebody who knows what a row says would type, and nothing more: the
/// model, the catalog's node with the row's GPU, the sizes, and the framework with its release. No
/// blank is filled and no contradiction mended; the error says why there is nothing to type.
Result<std::string> typed_command(const MeasuredRun& row);

/// Those of all rows: a line each behind its id, and `{commands [ { id, command, reason } ]}`,
/// where one of the two is null.
std::string commands_text(const std::vector<MeasuredRun>& rows);
std::string commands_json(const std::vector<MeasuredRun>& rows);

}  // namespace ergometer::validation
