#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/plan.h"

namespace ergometer::launch {

/// What `collect` needs to know of a run; read back from a folder's manifest.json.
struct ManifestRun {
  std::string name;  ///< "001", a folder below `runs`
  std::string job;
  int64_t repeat = 1;
  int64_t nodes = 1;
  int64_t gpus = 1;
  double predicted_step_s = 0;
};
struct Manifest {
  std::string name, framework, scheduler;
  int64_t steps = 1;              ///< of every run
  std::vector<ManifestRun> runs;  ///< in the order in which they are to start
};

/// manifest.json: what was asked for, every run with its job, repeat, seed, place in the order, the
/// files that hold its state and its predicted step time.
std::string manifest_json(const Plan& plan);

/// An input error: the folder has no manifest.json of ours.
Result<Manifest> read_manifest(const std::string& folder);

}  // namespace ergometer::launch
