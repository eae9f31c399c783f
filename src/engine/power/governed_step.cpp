#include "engine/power/governed_step.h"

#include <algorithm>
#include <cmath>

namespace ergometer::engine {

using physics::ClockDecision;
using physics::Load;
using physics::Response;

std::vector<GovernedStep::Board> GovernedStep::boards(const Surroundings& surroundings) const {
  std::vector<Board> boards;
  for (size_t gpu = 0; gpu < fleet_.like.size(); ++gpu)
    if (fleet_.is_first(gpu))
      boards.push_back({.gpu = gpu,
                        .leakage_w = fleet_.of_gpu(gpu).gpu.leakage_at(surroundings.die_c[gpu],
                                                                       fleet_.silicon[gpu]),
                        .ceiling_hz = surroundings.ceiling_hz[gpu]});
  return boards;
}

std::vector<Load> GovernedStep::loads_in(const std::vector<double>& slice_s) const {
  std::vector<Load> loads;
  loads.reserve(slice_s.size() * activity_.roles.size());
  for (size_t slice = 0; slice < slice_s.size(); ++slice)
    for (const RoleActivity& role : activity_.roles)
      loads.push_back(physics::load_of(role.slices[slice], slice_s[slice]));
  return loads;
}

std::vector<double> GovernedStep::clocked_shares() const {
  std::vector<double> shares;
  for (size_t slice = 0; slice < static_cast<size_t>(activity_.slices); ++slice)
    for (const RoleActivity& role : activity_.roles)
      shares.push_back(std::min(1.0, role.clocked_s[slice] / activity_.slice_s()));
  return shares;
}

ClockDecision GovernedStep::decide(const Board& board, const Load& load, const Response& response,
                                   double& near_hz) const {
  ClockDecision decision = physics::decide_clock_leaking(
      fleet_.of_gpu(board.gpu).gpu, fleet_.silicon[board.gpu], fleet_.limits[board.gpu],
      board.leakage_w, load, response, board.ceiling_hz, near_hz);
  near_hz = decision.clock_hz;
  decision.clock_hz *= fleet_.speed[board.gpu];
  return decision;
}

void GovernedStep::at_length(double step_s, const Surroundings& surroundings,
                             FleetStep& step) const {
  step.slice_s.assign(static_cast<size_t>(activity_.slices), step_s / activity_.slices);
  step.step_s = step_s;
  fill(boards(surroundings), step);
}

void GovernedStep::at_pace(double reference_hz, const Surroundings& surroundings,
                           FleetStep& step) const {
  const std::vector<Board> all = boards(surroundings);
  find_pace(reference_hz, all, step);
  step.step_s = 0;
  for (const double s : step.slice_s) step.step_s += s;
  fill(all, step);
}

void GovernedStep::find_pace(double reference_hz, const std::vector<Board>& boards,
                             FleetStep& step) const {
  const auto slices = static_cast<size_t>(activity_.slices);
  step.slice_s.assign(slices, activity_.slice_s());
  step.pace_hz.resize(fleet_.like.size() * slices);
  const std::vector<Load> loads = loads_in(step.slice_s);
  const std::vector<double> shares = clocked_shares();
  // Of GPUs in one role the slowest takes longest.
  std::vector<double> slowest_hz(shares.size(), INFINITY);
  for (const Board& board : boards)
    if (has_rank(board.gpu)) find_slowest(reference_hz, board, loads, shares, step, slowest_hz);
  for (size_t slice = 0; slice < slices; ++slice) {
    double longest = 0;
    for (size_t i = index(slice, 0); i < index(slice + 1, 0); ++i) {
      if (slowest_hz[i] == INFINITY) continue;
      const FleetKind& kind = fleet_.kinds[fleet_.kind_of_role(i - index(slice, 0))];
      longest = std::max(longest, slowdown(shares[i], reference_hz * kind.pace, slowest_hz[i],
                                           kind.gpu.clocks.highest_hz));
    }
    if (longest > 0) step.slice_s[slice] *= longest;
  }
}

void GovernedStep::find_slowest(double reference_hz, const Board& board,
                                const std::vector<Load>& loads, const std::vector<double>& shares,
                                FleetStep& step, std::vector<double>& slowest_hz) const {
  for (size_t slice = 0; slice < step.slice_s.size(); ++slice) {
    const size_t i = index(slice, role_of(board.gpu));
    if (shares[i] <= 0) continue;  // it waits whatever its clock
    double& near_hz = step.pace_hz[board.gpu * step.slice_s.size() + slice];
    const Response response{.clocked_share = shares[i],
                            .at_hz = reference_hz * fleet_.of_gpu(board.gpu).pace};
    slowest_hz[i] = std::min(slowest_hz[i], decide(board, loads[i], response, near_hz).clock_hz);
  }
}

/// What is summed over a GPU's slices, beside what is told of it.
struct GovernedStep::Sums {
  double work_s = 0, stretched_s = 0;
};

void GovernedStep::fill(const std::vector<Board>& boards, FleetStep& step) const {
  const size_t gpus = fleet_.like.size();
  step.gpus.assign(gpus, {});
  // Where nothing is known yet, a GPU is looked for at the clock of its own pace.
  if (step.clock_hz.size() != gpus * step.slice_s.size()) step.clock_hz = step.pace_hz;
  step.clock_hz.resize(gpus * step.slice_s.size());
  const std::vector<Load> loads = loads_in(step.slice_s);
  for (const Board& board : boards) {
    Sums sums;
    for (size_t slice = 0; slice < step.slice_s.size(); ++slice)
      add_slice(board, slice, loads, step, sums);
    GpuStep& gpu = step.gpus[board.gpu];
    gpu.effective_hz = sums.stretched_s > 0 ? sums.work_s / sums.stretched_s : gpu.clock_hz;
  }
  for (size_t gpu = 0; gpu < gpus; ++gpu) step.gpus[gpu] = step.gpus[fleet_.first_like(gpu)];
}

void GovernedStep::add_slice(const Board& board, size_t slice, const std::vector<Load>& loads,
                             FleetStep& step, Sums& sums) const {
  constexpr Load kNoWork{.core_w = 0, .memory_w = 0, .link_w = 0, .awake = false};
  const physics::GpuPower& kind = fleet_.of_gpu(board.gpu).gpu;
  const physics::Silicon& silicon = fleet_.silicon[board.gpu];
  const double share = step.slice_s[slice] / step.step_s;
  const bool works = has_rank(board.gpu);
  const Load& now = works ? loads[index(slice, role_of(board.gpu))] : kNoWork;
  double& near_hz = step.clock_hz[board.gpu * step.slice_s.size() + slice];
  const double clock_hz = works ? decide(board, now, {}, near_hz).clock_hz : kind.clocks.lowest_hz;
  const double v = kind.relative_voltage(clock_hz, silicon);
  const double watts = kind.power_at(v, clock_hz, board.leakage_w, now);
  GpuStep& sum = step.gpus[board.gpu];
  sum.mean_w += share * watts;
  sum.peak_w = std::max(sum.peak_w, watts);
  sum.memory_w += share * kind.memory_heat_w(now);
  sum.core_w += share * now.core_w * v * v;
  if (now.awake) sum.active_w += share * kind.active_w * v * v * clock_hz / kind.clocks.highest_hz;
  sum.clock_hz += share * clock_hz;
  if (!works) return;
  const double clocked_s = activity_.roles[role_of(board.gpu)].clocked_s[slice];
  sums.work_s += clocked_s;
  sums.stretched_s += clocked_s / clock_hz;
}

}  // namespace ergometer::engine
