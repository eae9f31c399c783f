// A lower bound of a step's energy, from work and time that it cannot go below.
//
// A GPU whose governor decides its clock ends in one of two ways. At the highest clock that its
// limits allow, f, all of its work is paid at the voltage of f, and what it draws without work at
// f:
//   E >= P(f, coldest die, no load) t + core v(f)^2 + memory + link.
// Below it, its power limit holds it: one step of the clock more would be above the limit, and a
// step changes power by at most the factor g, the largest of (f'/f) (v(f')/v(f))^2:
//   E >= cap / g t.
// Both grow with t and the work, so that a bound of these makes a bound of the energy. The node
// adds its overhead and the least that its fans draw.
#include <algorithm>
#include <limits>

#include "search/estimate/power_estimate.h"

namespace ergometer::search {
namespace {

double largest_power_step(const physics::GpuPower& gpu) {
  double largest = 1;
  if (gpu.clocks.step_hz <= 0) return largest;
  for (double clock = gpu.clocks.lowest_hz; clock < gpu.clocks.highest_hz;) {
    const double next = std::min(clock + gpu.clocks.step_hz, gpu.clocks.highest_hz);
    const double voltage = gpu.voltage.at(next) / gpu.voltage.at(clock);
    largest = std::max(largest, next / clock * voltage * voltage);
    clock = next;
  }
  return largest;
}

}  // namespace

void PowerEstimate::find_bound() {
  const physics::ClockLattice& clocks = gpu_.clocks;
  least_.clock_hz = limits_.brake         ? clocks.lowest_hz
                    : limits_.lock_hz > 0 ? clocks.floor(limits_.lock_hz)
                                          : clocks.highest_hz;
  double coldest_c = std::numeric_limits<double>::infinity();
  least_.fans_w = coldest_c;
  for (const Point& point : points_) {
    coldest_c = std::min(coldest_c, point.mean_c);
    least_.fans_w = std::min(least_.fans_w, point.fans_w);
  }
  least_.without_load_w = gpu_.power_w(least_.clock_hz, coldest_c, {}, {});
  const double cap_w = limits_.cap_w > 0 ? std::min(limits_.cap_w, gpu_.cap_w) : gpu_.cap_w;
  least_.capped_w =
      limits_.brake ? std::numeric_limits<double>::infinity() : cap_w / largest_power_step(gpu_);
}

double PowerEstimate::least_energy_j(const physics::Energy& work, double step_s) const {
  const double v = gpu_.relative_voltage(least_.clock_hz, {});
  const double free_j =
      least_.without_load_w * step_s + work.core_j() * v * v + work.memory_j + work.link_j;
  const double gpu_j = std::min(free_j, least_.capped_w * step_s);
  // Joules in place of watts: the supplies' losses are linear.
  const double overhead_j = (node_.overhead_w() + least_.fans_w + node_.supply_fixed_w) * step_s;
  return nodes_ * (gpus_per_node_ * gpu_j + overhead_j) / node_.supply_efficiency;
}

}  // namespace ergometer::search
