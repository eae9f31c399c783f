#pragma once

#include "base/result.h"
#include "spec/settings/settings.h"

namespace ergometer::spec {

/// The parts of a job that are read from catalog and files, as they stand there: what `model` and
/// `cluster` of the settings name.
struct JobParts {
  Model model;
  Cluster cluster;
};
Result<JobParts> read_job_parts(const Settings& settings);

/// `resolve` with these parts instead of what the settings name: for whoever asks what a job were
/// with another machine's links, or with half of its bandwidth.
Result<Job> resolve(const Settings& settings, const JobParts& parts);

}  // namespace ergometer::spec
