#include "engine/power/fleet_heat.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "engine/power/board_loops.h"

namespace ergometer::engine {
namespace {

/// The thermal governor holds the die this far below its limit, between two lattice steps.
constexpr double kMarginC = 0.25;
/// How steeply power falls with the clock, near the top: d ln P / d ln f of dynamic power. Assumed;
/// it sets how fast the ceiling is found, not where.
constexpr double kPowerExponent = 2.2;
constexpr double kLeastFlow = 0.05;

std::vector<double> resistances(const Fleet& fleet) {
  std::vector<double> factors;
  bool nominal = true;
  for (const physics::Silicon& silicon : fleet.silicon) {
    factors.push_back(silicon.thermal_resistance);
    nominal = nominal && silicon.thermal_resistance == 1;
  }
  if (nominal) factors.clear();
  return factors;
}

}  // namespace

FleetHeat::FleetHeat(const Fleet& fleet, const spec::Node& node)
    : fleet_(fleet), heat_(fleet.cooling, node, fleet.nodes, resistances(fleet)) {
  const auto gpus = static_cast<size_t>(fleet.gpus());
  const auto nodes = static_cast<size_t>(fleet.nodes);
  ceiling_hz_.assign(gpus, 0.0);
  die_w_.assign(gpus, 0.0);
  memory_w_.assign(gpus, 0.0);
  node_gpus_w_.assign(nodes, 0.0);
  fan_.assign(nodes, 1.0);
  inlet_c_ = fleet.inlet_c;
  set_coolant(1);
}

double FleetHeat::fans_w(int64_t node) const {
  const double speed = fan_[static_cast<size_t>(node)];
  return fleet_.cooling.fan_w * speed * speed * speed;
}

double FleetHeat::node_w(int64_t node, double gpus_w) const {
  return fleet_.node.ac_w(gpus_w, fans_w(node));
}

double FleetHeat::cluster_w() const {
  double watts = 0;
  for (int64_t node = 0; node < fleet_.nodes; ++node)
    watts += fleet_.weight[static_cast<size_t>(node)] *
             node_w(node, node_gpus_w_[static_cast<size_t>(node)]);
  return watts;
}

double FleetHeat::gpus_w() const {
  double watts = 0;
  for (size_t node = 0; node < node_gpus_w_.size(); ++node)
    watts += fleet_.weight[node] * node_gpus_w_[node];
  return watts;
}

void FleetHeat::take_power(const FleetStep& step, double weight) {
  std::ranges::fill(node_gpus_w_, 0.0);
  const auto per_node = static_cast<size_t>(fleet_.gpus_per_node);
  for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) {
    const double die_w = step.gpus[gpu].mean_w - step.gpus[gpu].memory_w;
    memory_w_[gpu] += weight * (step.gpus[gpu].memory_w - memory_w_[gpu]);
    die_w_[gpu] += weight * (die_w - die_w_[gpu]);
    node_gpus_w_[gpu / per_node] += step.gpus[gpu].mean_w;
  }
}

void FleetHeat::take_power(std::span<const double> watts, std::span<const double> memory_w) {
  std::ranges::fill(node_gpus_w_, 0.0);
  const auto per_node = static_cast<size_t>(fleet_.gpus_per_node);
  for (size_t gpu = 0; gpu < watts.size(); ++gpu) {
    die_w_[gpu] = watts[gpu] - memory_w[gpu];
    memory_w_[gpu] = memory_w[gpu];
    node_gpus_w_[gpu / per_node] += watts[gpu];
  }
}

void FleetHeat::take_power(GpuRange gpus, std::span<const double> watts,
                           std::span<const double> row_memory_w) {
  board_loops::split({.count = gpus.count,
                      .role = fleet_.role.data() + gpus.first,
                      .watts = watts.data() + gpus.first,
                      .row_memory_w = row_memory_w.data(),
                      .die_w = die_w_.data() + gpus.first,
                      .memory_w = memory_w_.data() + gpus.first});
  const auto per_node = static_cast<size_t>(fleet_.gpus_per_node);
  for (size_t node = gpus.first / per_node; node < (gpus.first + gpus.count) / per_node; ++node)
    node_gpus_w_[node] = base::sum(watts.subspan(node * per_node, per_node));
}

double FleetHeat::hottest_c(size_t node) const {
  const auto per_node = static_cast<std::ptrdiff_t>(fleet_.gpus_per_node);
  const auto first = heat_.die_c().begin() + static_cast<std::ptrdiff_t>(node) * per_node;
  return *std::max_element(first, first + per_node);
}

/// By the dies as they are.
void FleetHeat::set_coolant(double fan_weight) {
  std::vector<double> now_c(fan_.size());
  for (size_t node = 0; node < fan_.size(); ++node) now_c[node] = hottest_c(node);
  move_fans(fan_weight, now_c);
}

/// Fans go the part `fan_weight` of the way to what their controller wants.
void FleetHeat::move_fans(double fan_weight, std::span<const double> hottest_c) {
  for (size_t node = 0; node < fan_.size(); ++node) {
    const double wanted = fleet_.fan[node] > 0
                              ? fleet_.fan[node]
                              : physics::fan_speed(fleet_.cooling, hottest_c[node]);
    fan_[node] += (fleet_.fan[node] > 0 ? 1 : fan_weight) * (wanted - fan_[node]);
    const auto number = static_cast<int64_t>(node);
    inlet_c_[node] = fleet_.inlet_c[node] +
                     fleet_.cooling.recirculation_k_per_w * node_w(number, node_gpus_w_[node]);
    heat_.set_inlet(number, inlet_c_[node]);
    heat_.set_flow(number, std::max(kLeastFlow, fan_[node] * fleet_.open[node]));
  }
}

/// The ceiling that brings a die above its limit back to it, by how power follows the clock and the
/// settled temperature follows power; `weight`: part of the way.
void FleetHeat::move_ceilings(const FleetStep& step, double weight) {
  moved_clock_ = 0;
  const physics::GpuPower& kind = fleet_.kind;
  if (kind.target_c <= 0) return;
  const auto die_c = heat_.die_c();
  const auto memory_c = heat_.memory_c();
  for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu) {
    double over_k = die_c[gpu] - kind.target_c;
    if (kind.memory_limit_c > 0) over_k = std::max(over_k, memory_c[gpu] - kind.memory_limit_c);
    double& ceiling_hz = ceiling_hz_[gpu];
    if (over_k <= 0 && ceiling_hz <= 0) continue;
    const GpuStep& now = step.gpus[gpu];
    const double from_hz = ceiling_hz > 0 ? ceiling_hz : now.clock_hz;
    const double w_per_hz =
        std::max(1e-9, kPowerExponent * (now.core_w + now.active_w) / now.clock_hz);
    const double k_per_hz = heat_.die_k_per_w(static_cast<int64_t>(gpu)) * w_per_hz;
    const double to_hz = from_hz - weight * (over_k + kMarginC) / k_per_hz;
    ceiling_hz = std::max(to_hz, kind.clocks.lowest_hz);
    moved_clock_ = std::max(moved_clock_, std::abs(ceiling_hz - from_hz) / kind.clocks.highest_hz);
    if (ceiling_hz >= kind.clocks.highest_hz) ceiling_hz = 0;
    // Half the clock at once: the hardware's own limit.
    if (kind.slowdown_c > 0 && die_c[gpu] >= kind.slowdown_c && ceiling_hz > from_hz / 2)
      ceiling_hz = std::max(from_hz / 2, kind.clocks.lowest_hz);
  }
}

void FleetHeat::note_moves(const std::vector<double>& before_c) {
  const auto die_c = heat_.die_c();
  moved_k_ = 0;
  for (size_t gpu = 0; gpu < before_c.size(); ++gpu)
    moved_k_ = std::max(moved_k_, std::abs(die_c[gpu] - before_c[gpu]));
}

void FleetHeat::settle(const FleetStep& step, double weight) {
  const std::vector<double> before_c(heat_.die_c().begin(), heat_.die_c().end());
  take_power(step, weight);
  set_coolant(0.5);
  heat_.settle(die_w_, memory_w_);
  move_ceilings(step, 0.7);
  note_moves(before_c);
}

void FleetHeat::settle(std::span<const double> watts, std::span<const double> memory_w) {
  const std::vector<double> before_c(heat_.die_c().begin(), heat_.die_c().end());
  take_power(watts, memory_w);
  heat_.settle(die_w_, memory_w_);
  set_coolant(0.5);
  heat_.settle(die_w_, memory_w_);
  moved_clock_ = 0;
  note_moves(before_c);
}

GpuRange FleetHeat::gpus_of(size_t part) const {
  const int64_t first = heat_.first_node(part), end = heat_.first_node(part + 1);
  return {static_cast<size_t>(first * fleet_.gpus_per_node),
          static_cast<size_t>((end - first) * fleet_.gpus_per_node)};
}

void FleetHeat::advance(size_t part, double dt_s, std::span<const double> watts,
                        std::span<const physics::Load> loads) {
  row_memory_w_.resize(loads.size());
  for (size_t row = 0; row < loads.size(); ++row)
    row_memory_w_[row] = fleet_.kind.memory_heat_w(loads[row]);
  const GpuRange gpus = gpus_of(part);
  take_power(gpus, watts, row_memory_w_);
  heat_.advance_part(part, dt_s, die_w_, memory_w_);
  hottest_ks_.resize(fan_.size());
  for (auto node = heat_.first_node(part); node < heat_.first_node(part + 1); ++node)
    hottest_ks_[static_cast<size_t>(node)] += dt_s * hottest_c(static_cast<size_t>(node));
}

void FleetHeat::move_coolant(double dt_s) {
  since_fan_s_ += dt_s;
  if (since_fan_s_ < fleet_.cooling.fan_period_s) return;
  // Controllers follow the mean of their period, not what a step does to a die.
  for (double& sum : hottest_ks_) sum /= since_fan_s_;
  move_fans(0.5, hottest_ks_);
  hottest_ks_.assign(fan_.size(), 0.0);
  since_fan_s_ = 0;
}

void FleetHeat::start_at(double celsius) { heat_.start_at(celsius); }

void FleetHeat::cool_down(double clock_hz) {
  if (clock_hz <= 0) clock_hz = fleet_.kind.clocks.lowest_hz;
  FleetStep idle;
  idle.gpus.resize(static_cast<size_t>(fleet_.gpus()));
  for (int round = 0; round < 20; ++round) {
    for (size_t gpu = 0; gpu < idle.gpus.size(); ++gpu) {
      const physics::Load nothing{.awake = false};
      idle.gpus[gpu] = {
          .mean_w = fleet_.kind.power_w(clock_hz, heat_.die_c()[gpu], nothing, fleet_.silicon[gpu]),
          .memory_w = fleet_.kind.memory_heat_w(nothing),
          .clock_hz = clock_hz};
    }
    settle(idle);
    if (moved_k_ < 0.01) break;
  }
}

double FleetHeat::shut_down() const {
  double count = 0;
  if (fleet_.kind.shutdown_c <= 0) return count;
  const auto die_c = heat_.die_c();
  for (size_t gpu = 0; gpu < die_c.size(); ++gpu)
    if (die_c[gpu] >= fleet_.kind.shutdown_c) count += fleet_.weight_of(gpu);
  return count;
}

}  // namespace ergometer::engine
