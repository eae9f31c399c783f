#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/file/recording.h"

namespace ergometer::record {

/// As other hosts know it, without its domain.
std::string host_name();

/// A variable of the environment; empty where it is not set.
using Environment = std::function<std::string(const char*)>;
std::string environment_variable(const char* name);

/// What the environment says of the job: Slurm's ids, RANK, LOCAL_RANK, WORLD_SIZE, the GPUs that
/// are visible, under their names in lower case. What is not set is left out.
std::vector<run::Recording::Fact> job_facts(const Environment& environment);

/// "ergometer-HOST-20250131T235959.run", with "JOB.STEP-" of Slurm before the host; local time.
std::string default_file_name(const std::string& host, int64_t time_ns,
                              const Environment& environment);
/// The same, made as an empty file, so that two that start at once have two: "...-2.run".
std::string claim_file_name(const std::string& wanted);

}  // namespace ergometer::record
