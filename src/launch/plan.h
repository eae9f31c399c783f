#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/framework.h"
#include "launch/site.h"
#include "launch/text_file.h"
#include "run/run.h"
#include "spec/job/job.h"
#include "spec/settings/settings.h"

namespace ergometer::launch {

/// One job that is to be run, under the name by which the user knows it.
struct NamedJob {
  std::string id;
  spec::Settings settings;
};

struct PlanOptions {
  Framework framework = Framework::kMegatron;
  Site site;
  int64_t steps = 50;      ///< of every run
  int64_t repeats = 1;     ///< of every job
  int64_t order_seed = 1;  ///< of the order of runs; 0: as the jobs are written
  double cooldown_s = 0;   ///< between the end of one run and the start of the next
  size_t threads = 1;
};

/// A job that resolved, fits in memory and that the framework would take.
struct PlannedJob {
  std::string id;
  spec::Settings settings;
  spec::Job job;
  run::Run predicted;
  std::vector<std::string> notes;
};

/// One run: a job, once. Numbers count from 1 in the order in which runs are to start.
struct PlannedRun {
  int64_t number = 1;
  size_t job = 0;
  int64_t repeat = 1;           ///< of its job, from 1
  int64_t seed = 0;             ///< of the training program: another for every repeat
  std::vector<TextFile> files;  ///< what starts its training
};

struct Plan {
  PlanOptions options;
  std::vector<PlannedJob> jobs;
  std::vector<PlannedRun> runs;

  const PlannedJob& job_of(const PlannedRun& run) const { return jobs[run.job]; }
};

/// Predicts every job and puts the runs in order: every job once, in random order, then every job
/// once more, so that what drifts from hour to hour (heat of the room, neighbours) meets all jobs
/// alike. An error: the first job that is none, does not fit (kNo) or that the framework refuses.
Result<Plan> make_plan(std::vector<NamedJob> jobs, const PlanOptions& options);

/// "001", "1000": the run's name and folder below `runs`.
std::string run_name(int64_t number);

}  // namespace ergometer::launch
