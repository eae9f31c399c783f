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

/// Of a Run that grows, by what it says of its job alone: an input error where it is of another.
Result<void> check_growing_job(const std::string& path, const spec::Job& job);

}  // namespace ergometer::cli
