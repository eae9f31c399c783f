#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "optimize/optimize.h"
#include "spec/settings/settings.h"

namespace ergometer::optimize {

/// One GPU as it is to be set.
struct GpuSetting {
  int64_t node = 0, gpu = 0, rank = -1;
  double cap_w = 0, lock_mhz = 0;  ///< 0: left as it is
};

/// What the choice changes, in the words of those who carry it out.
struct Settings {
  std::vector<std::string> lines;           ///< for people, one change each; empty: nothing changes
  std::vector<std::string> megatron;        ///< arguments
  std::vector<GpuSetting> gpus;             ///< those with a cap or a lock of their own
  std::vector<int64_t> rank_map;            ///< empty: ranks as they were
  std::vector<int64_t> recompute_by_stage;  ///< where stages differ, which one argument cannot say
};
Settings settings_of(const Optimized& result);

/// The choice as settings of a job: what was given, with what changed in it.
spec::Settings job_settings(const spec::Settings& given, const Optimized& result);
/// A job file that `ergometer simulate` reads.
std::string job_file(const spec::Settings& settings);

struct File {
  std::string name, text, what;
};
/// Everything --out writes: job file, rank map, Slurm's host file, the order of GPUs, nvidia-smi
/// scripts, Megatron-LM's arguments, the schedule of clocks. `hosts`: names of the nodes; empty:
/// node0, node1, ...
std::vector<File> files_of(const Optimized& result, const spec::Settings& given,
                           const std::vector<std::string>& hosts);

/// Megatron-LM's --pipeline-model-parallel-layout for these layers of every (chunk, stage).
std::string megatron_layout(const std::vector<int64_t>& layers, int64_t mtp_layers);

}  // namespace ergometer::optimize
