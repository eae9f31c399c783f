#include "optimize/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "optimize/caps.h"
#include "physics/gpu_power.h"

namespace ergometer::optimize {
namespace {

/// Time-weighted means of what the passes of a stage run at; of passes without work, their clock.
struct MeanClock {
  double cycles = 0, seconds = 0, without_work_hz = 0;
  void add(double clock_hz, double time_s) {
    cycles += clock_hz * time_s;
    seconds += time_s;
    without_work_hz = clock_hz;
  }
  double hz() const { return seconds > 0 ? cycles / seconds : without_work_hz; }
};

ClockPoint clock_point(const PipelineTables& tables, const PipelineFrontier& frontier,
                       const FrontierPoint& point, const physics::ClockLattice& lattice) {
  std::vector<double> clocks_hz;
  lattice_energy(tables, frontier.passes, point.pass_s, point.time_s, clocks_hz);
  std::vector<std::array<MeanClock, 3>> means(tables.stages.size());
  for (size_t i = 0; i < frontier.passes.size(); ++i) {
    auto& mean = means[static_cast<size_t>(frontier.passes[i].stage)];
    mean[frontier.passes[i].backward() ? 1 : 0].add(clocks_hz[i], point.pass_s[i]);
    mean[2].add(clocks_hz[i], point.pass_s[i]);
  }
  ClockPoint result{point, {}, {}, {}};
  for (const auto& mean : means) {
    result.forward_hz.push_back(mean[0].hz());
    result.backward_hz.push_back(mean[1].hz());
    const double down = lattice.floor(mean[2].hz());
    result.lock_hz.push_back(
        down < mean[2].hz() - 1 ? std::min(lattice.highest_hz, down + lattice.step_hz) : down);
  }
  return result;
}

std::string range_text(const std::vector<double>& clocks_hz) {
  const auto [low, high] = std::ranges::minmax_element(clocks_hz);
  return *low == *high ? fmt::format("{:.0f} MHz", *low / kMegahertz)
                       : fmt::format("{:.0f} to {:.0f} MHz", *low / kMegahertz, *high / kMegahertz);
}

/// The job with the clock of every GPU locked, by stage.
spec::Job with_locks(spec::Job job, const std::vector<double>& lock_hz) {
  const auto stages = static_cast<int64_t>(lock_hz.size());
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const int64_t stage = rank * stages / job.gpus;
    set_override(job, job.parallelism.gpu_of(rank), spec::OverrideKind::kLockClock,
                 lock_hz[static_cast<size_t>(stage)]);
  }
  return job;
}

}  // namespace

std::vector<ClockPoint> clock_points(const PipelineTables& tables, const PipelineFrontier& frontier,
                                     const spec::Job& job, size_t most) {
  std::vector<ClockPoint> points;
  const auto gpu = physics::gpu_power(job.cluster.node.gpu);
  if (!gpu || frontier.points.empty()) return points;
  const double quick_s = frontier.points.back().time_s, slow_s = frontier.points.front().time_s;
  const FrontierPoint* last = nullptr;
  for (size_t i = 0; i < most; ++i) {
    const double share = most > 1 ? static_cast<double>(i) / static_cast<double>(most - 1) : 0;
    const double wanted_s = quick_s + share * share * (slow_s - quick_s);  // denser where quick
    const auto nearest = std::ranges::min_element(
        frontier.points, [&](const FrontierPoint& a, const FrontierPoint& b) {
          return std::abs(a.time_s - wanted_s) < std::abs(b.time_s - wanted_s);
        });
    if (&*nearest == last) continue;
    last = &*nearest;
    points.push_back(clock_point(tables, frontier, *nearest, gpu->clocks));
  }
  return points;
}

std::vector<Candidate> propose_clocks(const Played& played, const std::vector<ClockPoint>& points) {
  const spec::Job& job = played.candidate.job;
  std::vector<Candidate> candidates;
  const auto gpu = physics::gpu_power(job.cluster.node.gpu);
  if (!gpu) return candidates;
  for (const ClockPoint& point : points)
    candidates.push_back({fmt::format("clocks by stage, {}", range_text(point.lock_hz)),
                          with_locks(job, point.lock_hz)});
  // From the fastest GPU's clock down: between the slowest and the fastest a lock costs no time.
  double fastest_hz = 0;
  for (const run::Rank& rank : mean_ranks(played.outcomes))
    fastest_hz = std::max(fastest_hz, rank.mean_clock_mhz * kMegahertz);
  constexpr std::array kShares = {1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.87, 0.84, 0.8, 0.75, 0.7};
  const auto stages = static_cast<size_t>(job.parallelism.pp);
  for (const double share : kShares) {
    const double lock_hz = gpu->clocks.floor(share * fastest_hz);
    candidates.push_back({fmt::format("all clocks at {:.0f} MHz", lock_hz / kMegahertz),
                          with_locks(job, std::vector<double>(stages, lock_hz))});
  }
  return candidates;
}

}  // namespace ergometer::optimize
