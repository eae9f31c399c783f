#pragma once

#include "base/result.h"
#include "cli/console/command.h"
#include "import/trace/traces.h"

namespace ergometer::cli {

/// Answers with what flight recorders' dumps tell, where nothing else was given. Input error:
/// --report, for they have no page.
Result<void> analyze_dumps(const importer::Traces& traces, const Arguments& arguments,
                           const Console& console);

}  // namespace ergometer::cli
