#pragma once

#include <vector>

#include "optimize/candidate.h"
#include "physics/gpu_power.h"

namespace ergometer::optimize {

/// Power caps that differ by GPU. Where the user capped the GPUs or the cluster, watts move from
/// GPUs that wait to those that are waited for, their sum as it is. Without such a cap, and for
/// less energy, power or heat, lower caps: for all, and for GPUs that wait only.
std::vector<Candidate> propose_caps(const Played& played, Objective objective);

/// What a job allows: the cap of every rank's GPU, and whether the user set one at all.
struct Caps {
  std::vector<double> watts;  ///< by rank
  double lowest_w = 0, highest_w = 0;
  bool limited = false;
};
/// Never above the default cap, which supplies are built for. `fans_w`: a node's, of which a
/// cluster's cap leaves less to GPUs.
Caps caps_of(const spec::Job& job, const physics::GpuPower& gpu, double fans_w);
/// The job with these caps, by rank, in place of those it had.
spec::Job with_caps(spec::Job job, const std::vector<double>& watts);
/// Whole watts, none above what it may be, their sum at most `budget_w`: what is cut at one end of
/// the range is given to, or taken from, the others.
std::vector<double> within(std::vector<double> watts, const Caps& caps, double budget_w);

/// A cap or a lock of one GPU instead of what the job said of it before.
void set_override(spec::Job& job, int64_t gpu, spec::OverrideKind kind, double value);

}  // namespace ergometer::optimize
