#pragma once

#include <string>
#include <string_view>

#include "intake/programs/launcher_options.h"
#include "intake/script/shell_launch.h"

namespace ergometer::intake {

/// What a program's launchers are told of nodes, processes and hosts.
struct LauncherWords {
  static constexpr std::string_view kOwnHostfile = "/job/hostfile";  ///< DeepSpeed's own place

  std::string first;     ///< the command's first word, without folders
  std::string launcher;  ///< the last one, by whose options it has: "mpirun" of mpiexec; or empty
  LauncherCounts slurm, mpi, own;
  std::string hostfile{kOwnHostfile}, hosts, het_group, include, exclude, resource_sets;
  std::string shown;               ///< the words that say how many GPUs there are
  std::string misspelt;            ///< what is wrong with one of them; empty: nothing
  bool starts_everywhere = false;  ///< one of them starts processes on other nodes
  bool by_srun = false;            ///< that one is srun
  bool picks_nodes = false;        ///< which is told on which nodes: one of several such commands
};

/// The GPUs of a launch, and what they follow from, or why they are not known.
void count_gpus(const LauncherWords& by, const ShellRun& run, Launch& launch);

}  // namespace ergometer::intake
