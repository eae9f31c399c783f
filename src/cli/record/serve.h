#pragma once

#include "cli/console/command.h"

namespace ergometer::cli {

/// `ergometer serve --out DIR`: what recorders push, kept in Runs and shown as one living page.
std::vector<Flag> serve_flags();
Result<int> run_serve(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
