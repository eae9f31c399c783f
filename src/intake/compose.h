#pragma once

#include <string>

#include "base/result.h"
#include "intake/reader/reading.h"

namespace ergometer::intake {

/// The service of a Docker Compose file that has a command and reserves GPUs. Compose writes
/// variables into the file before it starts anything; the command is followed as a script is.
Result<Reading> parse_compose(const std::string& text, const std::string& file,
                              const ScriptContext& context);

}  // namespace ergometer::intake
