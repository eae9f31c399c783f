#pragma once

#include <vector>

#include "spec/job/job.h"

namespace ergometer::spec {

/// What the links of a job's network join, the topology's dimensions; of an optical network those
/// that its circuits make for the job. A job of whole nodes a stage, of several nodes each, has
/// rings from stage to stage ("stage") by `onward` of a node's links and rings within stages
/// ("ring") by the others, neither of them where no link is left; any other job, and one of a
/// single link a node, rings through all its nodes ("circuit"). `onward` below 0: the smaller half.
std::vector<Dimension> dimensions_of(const Fabric& fabric, int64_t nodes, int64_t stages,
                                     int64_t onward = -1);
std::vector<Dimension> dimensions_of(const Job& job);

/// How a job's circuits change within its steps (`reconfigure: phase`): how many of a node's links
/// lead from stage to stage while micro batches pass, and at the step's end while stages reduce
/// gradients or gather parameters. -1 in both: nothing changes.
struct CircuitPhases {
  int64_t passes = -1, end = -1;
  bool end_reduces = false, end_gathers = false;  ///< what of the two the end has
  bool within_passes = false;                     ///< stages send within themselves in passes too
  bool change() const { return passes != end; }
};

/// While micro batches pass all links lead from stage to stage, or half of them where groups within
/// stages send over the network meanwhile (tensor, context and expert parallelism, sharded
/// parameters, and gradients and parameters that --overlap-grad-reduce and --overlap-param-gather
/// send beside the passes: two phases that run at once share circuits). At the end all but one form
/// rings within stages: sums over stages need one, tied embeddings half of them. Nothing changes
/// where nothing is left for the end, or stages are not several whole nodes each.
CircuitPhases circuit_phases(const Job& job);

}  // namespace ergometer::spec
