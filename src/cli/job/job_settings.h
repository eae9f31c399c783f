#pragma once

#include <string>
#include <vector>

#include "cli/console/command.h"
#include "spec/job/job.h"
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

/// The job of the settings; tells what of them gave way to what else was said or has no effect, and
/// keys of the model's file that mean nothing here.
Result<spec::Job> resolve_job(const spec::Settings& settings, const Console& console);
/// Tells the same, `name` in front unless it is empty, for a command that resolves the job later;
/// what is no job is told there.
void tell_job(const spec::Settings& settings, const std::string& name, const Console& console);

}  // namespace ergometer::cli
