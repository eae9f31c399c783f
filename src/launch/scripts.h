#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/plan.h"
#include "launch/text_file.h"

namespace ergometer::launch {

/// All scripts of a folder but what starts the frameworks (training.h). State is files, so that
/// any of them may be started again at any time:
///
///   settings.sh       paths, ports, the environment: the one file that a user edits
///   node.sh           on every node: `ergometer record` around the run's train.sh
///   drive.sh          one run: passes a finished one, cools down, starts node.sh everywhere
///   runs/001/run.sh   drive.sh with this run's number and nodes
///   submit.sh         Slurm: submits what is not finished, in the manifest's order
///   submit.sbatch     Slurm: a job array of runs (several files where runs need unequal nodes)
///   run-all.sh        ssh, Kubernetes: all runs in their order
///   stop.sh           ssh: ends a run on one node
std::vector<TextFile> scripts_of(const Plan& plan);

/// The runs that one sbatch script submits: those of equally many nodes and GPUs.
struct Batch {
  std::string file;  ///< "submit.sbatch", "submit-4x8-gpus.sbatch"
  int64_t nodes = 1, gpus_per_node = 1;
  std::vector<int64_t> runs;  ///< numbers, rising
};
std::vector<Batch> batches_of(const Plan& plan);

// Between the files of this folder.

/// What a scheduler has of its own.
struct SchedulerPart {
  /// Of node.sh: sets number, attempt, nodes, head, rank and host.
  std::string node_start;
  /// Of node.sh, behind the training: `status` is how it ended.
  std::string node_end;
  /// Of drive.sh: everything behind the cool-down's function.
  std::string drive;
  std::vector<TextFile> files;
};
SchedulerPart slurm_part(const Plan& plan);
SchedulerPart ssh_part(const Plan& plan);
SchedulerPart kubernetes_part(const Plan& plan);
/// Of those where one process drives a run from its start to its end.
std::string lock_text(std::string_view owner, std::string_view is_alive);
std::string finish_text();

/// run-all.sh.
TextFile run_all_file(const Plan& plan);
/// `text` with every "@NAME@" replaced; not within what it is replaced by.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values);
/// Names of the environment variables that hold secrets, blanks between.
std::string secret_names(const Site& site);
/// Ranks that a node has at most.
int64_t gpus_per_node(const spec::Job& job);

}  // namespace ergometer::launch
