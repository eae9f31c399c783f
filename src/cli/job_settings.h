#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "spec/settings.h"

namespace ergometer::cli {

/// The options by which commands take a job: every setting, and files of other tools.
std::vector<Flag> setting_flags();

/// Whether the user named a job at all: a model, a job file, or a file of another tool.
bool names_job(const Arguments& arguments);

/// Whether a command's word is a job file rather than a model.
bool is_job_file(const std::string& word);

/// What the user said about the job; weakest first: files of other tools, the job file, options.
base::Result<spec::Settings> gather_settings(const Arguments& arguments, const Console& console);

}  // namespace ergometer::cli
