#include "engine/power/governed_step.h"

#include <algorithm>

namespace ergometer::engine {

using physics::ClockDecision;
using physics::Load;
using physics::Response;

double GovernedStep::clocked_share(size_t role, size_t slice) const {
  return std::min(1.0, activity_.roles[role].clocked_s[slice] / activity_.slice_s());
}

std::vector<GovernedStep::Board> GovernedStep::boards(const Surroundings& surroundings) const {
  std::vector<Board> boards;
  for (size_t gpu = 0; gpu < fleet_.like.size(); ++gpu)
    if (fleet_.is_first(gpu))
      boards.push_back(
          {.gpu = gpu,
           .leakage_w = fleet_.kind.leakage_at(surroundings.die_c[gpu], fleet_.silicon[gpu]),
           .ceiling_hz = surroundings.ceiling_hz[gpu]});
  return boards;
}

void GovernedStep::find_loads(size_t slice, double slice_s, std::vector<Load>& loads) const {
  for (size_t role = 0; role < loads.size(); ++role)
    loads[role] = physics::load_of(activity_.roles[role].slices[slice], slice_s);
}

ClockDecision GovernedStep::decide(const Board& board, const Load& load, const Response& response,
                                   double& near_hz) const {
  ClockDecision decision = physics::decide_clock_leaking(fleet_.kind, fleet_.silicon[board.gpu],
                                                         fleet_.limits[board.gpu], board.leakage_w,
                                                         load, response, board.ceiling_hz, near_hz);
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
  std::vector<Load> loads(activity_.roles.size());
  for (size_t slice = 0; slice < slices; ++slice) {
    find_loads(slice, activity_.slice_s(), loads);
    const double stretch = longest(reference_hz, slice, boards, loads, step);
    if (stretch > 0) step.slice_s[slice] *= stretch;
  }
}

double GovernedStep::longest(double reference_hz, size_t slice, const std::vector<Board>& boards,
                             const std::vector<Load>& loads, FleetStep& step) const {
  // Of GPUs in one role the slowest takes longest.
  std::vector<double> slowest_hz(loads.size(), 0);
  for (const Board& board : boards) {
    if (!has_rank(board.gpu)) continue;
    const size_t role = role_of(board.gpu);
    const double share = clocked_share(role, slice);
    if (share <= 0) continue;  // it waits whatever its clock
    const Response response{.clocked_share = share, .at_hz = reference_hz};
    double& near_hz = step.pace_hz[board.gpu * step.slice_s.size() + slice];
    const double clock_hz = decide(board, loads[role], response, near_hz).clock_hz;
    if (slowest_hz[role] == 0 || clock_hz < slowest_hz[role]) slowest_hz[role] = clock_hz;
  }
  double longest = 0;
  for (size_t role = 0; role < slowest_hz.size(); ++role)
    if (slowest_hz[role] > 0)
      longest = std::max(longest, slowdown(clocked_share(role, slice), reference_hz,
                                           slowest_hz[role], fleet_.kind.clocks.highest_hz));
  return longest;
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
  std::vector<Sums> sums(gpus);
  std::vector<Load> loads(activity_.roles.size());
  for (size_t slice = 0; slice < step.slice_s.size(); ++slice) {
    find_loads(slice, step.slice_s[slice], loads);
    for (const Board& board : boards) add_slice(board, slice, loads, step, sums[board.gpu]);
  }
  for (const Board& board : boards)
    step.gpus[board.gpu].effective_hz = sums[board.gpu].stretched_s > 0
                                            ? sums[board.gpu].work_s / sums[board.gpu].stretched_s
                                            : step.gpus[board.gpu].clock_hz;
  for (size_t gpu = 0; gpu < gpus; ++gpu) step.gpus[gpu] = step.gpus[fleet_.first_like(gpu)];
}

void GovernedStep::add_slice(const Board& board, size_t slice, const std::vector<Load>& loads,
                             FleetStep& step, Sums& sums) const {
  constexpr Load kNoWork{.core_w = 0, .memory_w = 0, .link_w = 0, .awake = false};
  const physics::Silicon& silicon = fleet_.silicon[board.gpu];
  const double share = step.slice_s[slice] / step.step_s;
  const bool works = has_rank(board.gpu);
  const Load& now = works ? loads[role_of(board.gpu)] : kNoWork;
  double& near_hz = step.clock_hz[board.gpu * step.slice_s.size() + slice];
  const double clock_hz =
      works ? decide(board, now, {}, near_hz).clock_hz : fleet_.kind.clocks.lowest_hz;
  const double watts = fleet_.kind.power_leaking(clock_hz, board.leakage_w, now, silicon);
  const double v = fleet_.kind.relative_voltage(clock_hz, silicon);
  GpuStep& sum = step.gpus[board.gpu];
  sum.mean_w += share * watts;
  sum.peak_w = std::max(sum.peak_w, watts);
  sum.memory_w += share * fleet_.kind.memory_heat_w(now);
  sum.core_w += share * now.core_w * v * v;
  if (now.awake)
    sum.active_w += share * fleet_.kind.active_w * v * v * clock_hz / fleet_.kind.clocks.highest_hz;
  sum.clock_hz += share * clock_hz;
  if (!works) return;
  const double clocked_s = activity_.roles[role_of(board.gpu)].clocked_s[slice];
  sums.work_s += clocked_s;
  sums.stretched_s += clocked_s / clock_hz;
}

}  // namespace ergometer::engine
