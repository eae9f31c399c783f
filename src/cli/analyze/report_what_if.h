#pragma once

#include "base/result.h"
#include "cli/console/command.h"
#include "page/document.h"

namespace ergometer::cli {

/// What `report JOB --what-if LIST` shows: the job's Run, and its neighbours played.
struct WhatIfReport {
  page::NamedRun run;
  study::WhatIf what_if;
};
Result<WhatIfReport> what_if_report(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
