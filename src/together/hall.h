#pragma once

#include <vector>

#include "base/result.h"
#include "engine/power/other_work.h"
#include "run/run.h"
#include "together/nodes.h"
#include "together/one_node.h"
#include "together/sharing.h"
#include "together/together.h"

namespace ergometer::together {

/// What was played of a job where it lies.
struct Outcome {
  Played played;
  run::Run run;
};

/// Jobs as they are played beside each other. Keeps what it is made of by reference.
class Hall {
 public:
  Hall(const std::vector<NamedJob>& jobs, const std::vector<Place>& places);

  /// Every job on the cluster's first nodes, then in its place.
  Result<void> play_apart();
  /// Every job beside the others, until neither heat nor links move.
  Result<void> play_beside();

  std::vector<Tenant> tenants() const;
  JobBeside job(size_t which) const;
  const run::Run& run_of(size_t which) const { return now_[which].run; }
  /// At the plugs of its nodes, its part of them, W.
  double own_w(size_t which) const;

 private:
  Result<Outcome> play(size_t which, const std::vector<double>& shares) const;
  double moved(const std::vector<std::vector<engine::OtherWork>>& before) const;

  const std::vector<NamedJob>& jobs_;
  const std::vector<Place>& places_;
  bool shares_node_ = false;
  std::vector<std::vector<TierPlace>> tiers_;
  std::vector<std::vector<size_t>> on_node_;
  std::vector<spec::Job> placed_jobs_;
  std::vector<std::vector<engine::OtherWork>> others_;  ///< on each job's node
  std::vector<Outcome> alone_, placed_, now_;
  std::vector<double> warmed_step_s_;
};

}  // namespace ergometer::together
