#pragma once

#include <string>
#include <vector>

#include "cli/console/command.h"
#include "spec/settings/settings.h"

namespace ergometer::cli {

/// The options by which commands take a job: every setting, and files of other tools.
std::vector<Flag> setting_flags();

/// Whether the user named a job at all: a model, a job file, or a file of another tool.
bool names_job(const Arguments& arguments);

/// How a shell asks `simulate` for the job: "ergometer simulate llama3-70b --cluster hgx-h200
/// --gpus 64"; without what a command does with the job besides.
std::string job_command(const Arguments& arguments);

/// What the user said about the job; weakest first: --nemo, --megatron-args, the files among the
/// command's words in their order, options.
Result<spec::Settings> gather_settings(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
