#pragma once

#include <string>

#include "cli/console/command.h"
#include "import/import.h"
#include "spec/job/job.h"

namespace ergometer::cli {

/// What --from names, a list of what was recorded of the job; a simulated Run has its step as a
/// training log. An input error: a Run that says that it is of another job.
Result<importer::Recorded> read_recorded_job(const Arguments& arguments, const spec::Job& job,
                                             size_t threads);

}  // namespace ergometer::cli
