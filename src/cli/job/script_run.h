#pragma once

#include "base/result.h"
#include "cli/console/command.h"
#include "intake/reader/reading.h"

namespace ergometer::cli {

/// --env, --script-args, --script-adds, --script-line: how a launch script is followed.
void add_script_flags(std::vector<Flag>& flags);
/// --megatron-run, of commands that run another.
void add_run_flag(std::vector<Flag>& flags);
Result<intake::ScriptContext> script_context(const Arguments& arguments);

/// --megatron-run -- COMMAND: runs the user's own script with stand-ins in front on its PATH, which
/// report how they were started and do nothing, and reads the job they were started for.
Result<intake::Reading> read_megatron_run(const Arguments& arguments);

}  // namespace ergometer::cli
