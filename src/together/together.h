#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"
#include "together/nodes.h"
#include "together/sharing.h"

namespace ergometer::together {

inline constexpr size_t kMostJobs = 8;

/// A job and what it is called.
struct NamedJob {
  std::string name;
  spec::Job job;
};

struct TogetherOptions {
  Placement placement = Placement::kPacked;
  std::vector<Place> places = {};     ///< of every job; empty: by `placement`
  std::optional<double> feed_w = {};  ///< what may be drawn at the nodes' plugs
};

/// A job in its place beside the others. Powers are at its nodes' plugs; of a node that it shares
/// its part (one_node.h).
struct JobBeside {
  std::string name;
  int64_t gpus = 0;
  Place place;
  bool fits = true;          ///< into its GPUs' memory
  double alone_step_s = 0;   ///< on the cluster's first nodes, nothing beside it
  double placed_step_s = 0;  ///< on its own nodes and GPUs, nothing beside it
  double warmed_step_s = 0;  ///< there, with the heat of the others on its node
  double step_s = 0;         ///< and with what all others take of links
  /// `step_s` where links are not followed: each shared by all jobs; else the same.
  double most_step_s = 0;
  double mean_w = 0, peak_w = 0;
  double alone_max_c = 0, placed_max_c = 0, max_c = 0;  ///< its hottest GPU, as of the steps
  std::vector<size_t> on_node = {};  ///< the jobs that have other GPUs of its node
  std::vector<TierUse> tiers = {};   ///< those that its traffic leaves upward
  double slower() const { return step_s / alone_step_s - 1; }
  double slower_at_most() const { return most_step_s / alone_step_s - 1; }
  /// The tier where others take most; none: they take nothing.
  const TierUse* slowed_by() const;
};

/// Whether a feed holds.
struct Feed {
  double limit_w = 0;
  double exceeded_fraction = 0;  ///< of the time, phases unrelated
  double excess_w = 0;           ///< of the highest peak; 0: none
  double excess_w_per_gpu = 0;
  bool caps_can_hold = true;  ///< with so much less every GPU is at its lowest cap at least
  bool holds() const { return excess_w <= 0; }
};

struct Together {
  std::string cluster;
  int64_t cluster_nodes = 0;      ///< 0: as many as jobs ask for
  std::string placement;          ///< "packed", "interleaved", "given"
  bool meets_on_switches = true;  ///< false: a network whose links between nodes are not followed
  bool own_circuits = false;      ///< every job has links that it alone sends over
  spec::IntraKind intra = spec::IntraKind::kNvlinkSwitch;  ///< what joins GPUs of a node
  bool follows_pcie = false;  ///< nodes say a PCIe tree: who meets on its links is known
  std::vector<JobBeside> jobs = {};
  bool has_power = true;  ///< mean, peaks and feed mean something
  double mean_w = 0;
  double worst_peak_w = 0;   ///< all at their peaks at once
  double likely_peak_w = 0;  ///< exceeded in `kUnlikely` of the time, phases unrelated
  std::optional<Feed> feed = {};
  bool fits() const;
  bool shares_nodes() const;
  int64_t nodes() const;
};
inline constexpr double kUnlikely = 1e-3;

/// Two or more jobs of one cluster, whose nodes are alike. An input error where they have no room.
Result<Together> play_together(const std::vector<NamedJob>& jobs, const TogetherOptions& options);

}  // namespace ergometer::together
