#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer launch JOB|STUDY --for NAME --scheduler NAME --out FOLDER`: the scripts
/// that run jobs for real, recorded; `--collect FOLDER`: what came back, beside its prediction.
std::vector<Flag> launch_flags();
Result<int> run_launch(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
