#include "search/estimate/power_estimate.h"

#include <algorithm>

#include "engine/outcome/powered.h"
#include "engine/power/fleet_heat.h"

namespace ergometer::search {
namespace {

/// Nodes settled, and how often what lies between two of them is divided: leakage, which is no
/// straight line, is off by less than a hundred thousandth between two points.
constexpr int kSettled = 9, kParts = 16;
constexpr int kMostSettling = 200;
constexpr double kSettledK = 0.01;
/// Of a GPU's power, what its HBM turns into heat while such a node is settled (assumed; it only
/// moves heat between two parts of one package).
constexpr double kMemoryShare = 0.12;

/// One node of the job's, all of its GPUs at work.
spec::Job one_node(const spec::Job& job) {
  spec::Job node = job;
  node.gpus = std::min<int64_t>(job.gpus, job.cluster.node.gpus);
  node.parallelism = {};
  node.parallelism.dp = node.gpus;
  return node;
}

}  // namespace

std::optional<PowerEstimate> PowerEstimate::make(const spec::Job& job) {
  if (job.conditions.constant_clocks || !engine::has_power_data(job)) return {};
  const auto fleet = engine::make_fleet(one_node(job));
  if (!fleet) return {};
  PowerEstimate estimate;
  const physics::GpuPower& kind = fleet->kinds.front().gpu;
  estimate.gpu_ = kind;
  estimate.node_ = fleet->kinds.front().node;
  estimate.limits_ = fleet->limits.front();
  estimate.own_limits_ = estimate.limits_.brake || estimate.limits_.lock_hz > 0 ||
                         (estimate.limits_.cap_w > 0 && estimate.limits_.cap_w != kind.cap_w);
  estimate.gpus_per_node_ = static_cast<double>(fleet->gpus_per_node);
  estimate.nodes_ = static_cast<double>(job.nodes());
  std::vector<Point> settled;
  const auto between = [&settled](double place) {
    const size_t below = std::min(static_cast<size_t>(place), settled.size() - 2);
    const Point &from = settled[below], &to = settled[below + 1];
    const double share = place - static_cast<double>(below);
    const auto mean = [share](double a, double b) { return a + share * (b - a); };
    return Point{.gpu_w = mean(from.gpu_w, to.gpu_w),
                 .mean_c = mean(from.mean_c, to.mean_c),
                 .max_c = mean(from.max_c, to.max_c),
                 .fans_w = mean(from.fans_w, to.fans_w)};
  };
  for (int i = 0; i < kSettled; ++i) {
    const double share = static_cast<double>(i) / (kSettled - 1);
    const double watts = kind.idle_w + share * (kind.highest_cap_w - kind.idle_w);
    engine::FleetHeat heat(*fleet, job.cluster);
    engine::FleetStep step;
    step.step_s = 1;
    step.gpus.resize(static_cast<size_t>(fleet->gpus()));
    for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu)
      if (fleet->role[gpu] >= 0)
        step.gpus[gpu] = {.mean_w = watts,
                          .memory_w = kMemoryShare * watts,
                          .clock_hz = kind.clocks.highest_hz,
                          .effective_hz = kind.clocks.highest_hz};
    for (int round = 0; round < kMostSettling; ++round) {
      heat.settle(step);
      if (round > 2 && heat.moved_k() < kSettledK) break;
    }
    Point point{.gpu_w = watts, .fans_w = heat.fans_w(0)};
    for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) {
      if (fleet->role[gpu] < 0) continue;
      const double die_c = heat.surroundings().die_c[gpu];
      point.mean_c += die_c / static_cast<double>(fleet->ranks);
      point.max_c = std::max(point.max_c, die_c);
    }
    settled.push_back(point);
  }
  for (int i = 0; i <= (kSettled - 1) * kParts; ++i)
    estimate.points_.push_back(between(static_cast<double>(i) / kParts));
  for (Point& point : estimate.points_)
    point.leakage_w = estimate.gpu_.leakage_at(point.mean_c, {});
  estimate.points_per_w_ = (kSettled - 1) * kParts / (settled.back().gpu_w - settled.front().gpu_w);
  estimate.find_bound();
  return estimate;
}

PowerEstimate::Place PowerEstimate::place_of(double gpu_w) const {
  const size_t last = points_.size() - 1;
  const double place =
      std::clamp((gpu_w - points_.front().gpu_w) * points_per_w_, 0.0, static_cast<double>(last));
  const auto below = std::min(static_cast<size_t>(place), last - 1);
  return {below, place - static_cast<double>(below)};
}

double PowerEstimate::clock(const physics::ClockLimits& limits, const physics::Load& load,
                            double leakage_w, const physics::Response& response) const {
  return physics::decide_clock_leaking(gpu_, {}, limits, leakage_w, load, response, 0).clock_hz;
}

/// Wherever in the node the busiest GPU stands: at the place that is hottest where all draw the
/// mean, warmer than it by what GPUs warm with their own watts.
double PowerEstimate::hottest_c(double gpu_w, double busiest_w) const {
  const Place mean = place_of(gpu_w);
  return at(mean, &Point::max_c) + at(place_of(busiest_w), &Point::mean_c) -
         at(mean, &Point::mean_c);
}

PowerEstimate::Result PowerEstimate::of(const physics::Energy& work, double step_s,
                                        double clocked_share, double slack_share,
                                        double most_work) const {
  const physics::Load load = physics::load_of(work, step_s);
  Place node = place_of(0.7 * gpu_.cap_w);
  Result result{.step_s = step_s};
  double felt_share = slack_share > 0 ? 0 : clocked_share;  // as a line through the clock found
  const double highest_hz = gpu_.clocks.highest_hz;
  // At the highest clock v is 1, so that leakage adds up.
  const double unleaking_w = gpu_.power_leaking(highest_hz, 0, load, {});
  double nominal_hz = 0, busiest_w = 0;
  for (int round = 0; round < 3; ++round) {
    const double leakage_w = at(node, &Point::leakage_w);
    // The clock at which prices hold is that of nominal conditions, looked for from where it was;
    // the job's limits move it.
    const bool unlimited = unleaking_w + leakage_w <= gpu_.cap_w;
    nominal_hz = unlimited ? highest_hz : clock({}, load, leakage_w, {0, nominal_hz});
    double clock_hz = nominal_hz;
    physics::Load drawn = load;
    if (own_limits_) clock_hz = clock(limits_, load, leakage_w, {felt_share, nominal_hz});
    if (clock_hz < nominal_hz) {
      const double slower = nominal_hz / clock_hz - 1;
      const double pace = 1 + std::max(0.0, clocked_share * slower - slack_share);
      felt_share = (pace - 1) / slower;
      result.step_s = step_s * pace;
      drawn = physics::load_of(work, result.step_s);
    } else {
      result.step_s = step_s;
    }
    result.gpu_w = gpu_.power_leaking(clock_hz, leakage_w, drawn, {});
    node = place_of(result.gpu_w);
    const double waiting_w = gpu_.power_leaking(clock_hz, leakage_w, {}, {});
    busiest_w = std::min(waiting_w + most_work * (result.gpu_w - waiting_w),
                         std::max(result.gpu_w, limits_.cap_w > 0 ? limits_.cap_w : gpu_.cap_w));
  }
  result.max_gpu_c = hottest_c(result.gpu_w, busiest_w);
  result.energy_j =
      nodes_ * node_.ac_w(gpus_per_node_ * result.gpu_w, at(node, &Point::fans_w)) * result.step_s;
  return result;
}

}  // namespace ergometer::search
