#pragma once

#include <vector>

#include "cli/console/command.h"
#include "launch/plan.h"

namespace ergometer::cli {

/// What of `ergometer launch` is no setting of a job.
std::vector<Flag> launch_option_flags();

/// How to run jobs, from the site file and the options over it. Input errors name the option, what
/// was found and what is allowed.
Result<launch::PlanOptions> launch_options(const Arguments& arguments);

/// The jobs of a study (a file or a name of the catalog), or the one that the user wrote.
Result<std::vector<launch::NamedJob>> launch_jobs(const Arguments& arguments,
                                                  const Console& console);

}  // namespace ergometer::cli
