#pragma once

#include <optional>
#include <vector>

#include "physics/energy.h"
#include "physics/governor.h"
#include "physics/node_power.h"
#include "spec/job/job.h"

namespace ergometer::search {

/// A step's power from its joules: one GPU in the mean over stages and time, its governor's clock,
/// and the node around it at the temperatures that such a power settles at.
class PowerEstimate {
 public:
  /// Nothing where the catalog does not say enough about the job's GPU and node.
  static std::optional<PowerEstimate> make(const spec::Job& job);

  struct Result {
    double step_s = 0;     ///< at the clock that the job's own limits allow
    double gpu_w = 0;      ///< mean
    double max_gpu_c = 0;  ///< the hottest GPU of the node
    double energy_j = 0;   ///< of the cluster at the plug, for one step
  };
  /// `work`: of a GPU in a step, mean over stages. `step_s`: at the clock that prices hold at.
  /// `clocked_share`: of the step, what follows the clock. `slack_share`: of the step, for how long
  /// the GPU waits for its host, by which a lower clock is not felt. `most_work`: that of the stage
  /// that works most, over the mean; its GPU is the hottest.
  Result of(const physics::Energy& work, double step_s, double clocked_share, double slack_share,
            double most_work) const;

  /// What `energy_j` of no step can go below whose GPUs do at least `work` in at least `step_s`
  /// (energy_bound.cpp).
  double least_energy_j(const physics::Energy& work, double step_s) const;

 private:
  struct Point {
    double gpu_w = 0, mean_c = 0, max_c = 0, fans_w = 0;
    double leakage_w = 0;  ///< at relative voltage 1 and the mean temperature
  };
  /// Between point `below` and the next one.
  struct Place {
    size_t below = 0;
    double share = 0;
  };
  /// What `least_energy_j` is made of.
  struct Least {
    double clock_hz = 0, without_load_w = 0, capped_w = 0, fans_w = 0;
  };
  void find_bound();
  Place place_of(double gpu_w) const;
  double at(const Place& place, double Point::* what) const {
    const double from = points_[place.below].*what, to = points_[place.below + 1].*what;
    return from + place.share * (to - from);
  }
  double hottest_c(double gpu_w, double busiest_w) const;
  double clock(const physics::ClockLimits& limits, const physics::Load& load, double leakage_w,
               const physics::Response& response) const;

  physics::GpuPower gpu_;
  physics::NodePower node_;
  physics::ClockLimits limits_;
  bool own_limits_ = false;  ///< others than those of nominal conditions
  double gpus_per_node_ = 8, nodes_ = 1;
  /// Settled nodes whose GPUs all draw the same, by rising power in equal steps.
  std::vector<Point> points_;
  double points_per_w_ = 0;
  Least least_;
};

}  // namespace ergometer::search
