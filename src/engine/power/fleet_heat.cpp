#include "engine/power/fleet_heat.h"

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "engine/power/board_loops.h"
#include "spec/job/node_groups.h"

namespace ergometer::engine {
namespace {

/// The thermal governor holds the die this far below its limit, between two lattice steps.
constexpr double kMarginC = 0.25;
/// How steeply power falls with the clock, near the top: d ln P / d ln f of dynamic power. Assumed;
/// it sets how fast the ceiling is found, not where.
constexpr double kPowerExponent = 2.2;
constexpr double kLeastFlow = 0.05;

std::vector<double> resistances(const Fleet& fleet, GpuRange gpus) {
  std::vector<double> factors;
  bool nominal = true;
  for (size_t gpu = gpus.first; gpu < gpus.first + gpus.count; ++gpu) {
    factors.push_back(fleet.silicon[gpu].thermal_resistance);
    nominal = nominal && factors.back() == 1;
  }
  if (nominal) factors.clear();
  return factors;
}

}  // namespace

FleetHeat::FleetHeat(const Fleet& fleet, const spec::Cluster& cluster) : fleet_(fleet) {
  const auto gpus = static_cast<size_t>(fleet.gpus());
  const auto nodes = static_cast<size_t>(fleet.nodes);
  for (size_t kind = 0; kind < fleet.kinds.size(); ++kind) {
    const FleetKind& nodes_of = fleet.kinds[kind];
    heats_.emplace_back(nodes_of.cooling, spec::node_of_group(cluster, kind), nodes_of.nodes,
                        resistances(fleet, fleet.gpus_of(nodes_of)));
    const physics::Heat& heat = heats_.back();
    const auto first_gpu = [&](size_t part) {
      return static_cast<size_t>((nodes_of.first_node + heat.first_node(part)) *
                                 fleet.gpus_per_node);
    };
    for (size_t part = 0; part < heat.parts(); ++part)
      parts_.push_back({kind, part, {first_gpu(part), first_gpu(part + 1) - first_gpu(part)}});
  }
  if (own()) {
    die_c_.resize(gpus);
    memory_c_.resize(gpus);
  }
  ceiling_hz_.assign(gpus, 0.0);
  die_w_.assign(gpus, 0.0);
  memory_w_.assign(gpus, 0.0);
  node_gpus_w_.assign(nodes, 0.0);
  fan_.assign(nodes, 1.0);
  inlet_c_ = fleet.inlet_c;
  since_fan_s_.assign(fleet.kinds.size(), 0.0);
  for (size_t kind = 0; kind < heats_.size(); ++kind) read(kind);
  set_coolant(1);
}

/// What the heat of a kind says of some of its GPUs now, among those of all kinds.
void FleetHeat::read(size_t kind, GpuRange gpus) {
  if (!own()) return;
  const size_t in_kind = gpus.first - fleet_.gpus_of(fleet_.kinds[kind]).first;
  const auto to = static_cast<std::ptrdiff_t>(gpus.first);
  std::ranges::copy(heats_[kind].die_c().subspan(in_kind, gpus.count), die_c_.begin() + to);
  std::ranges::copy(heats_[kind].memory_c().subspan(in_kind, gpus.count), memory_c_.begin() + to);
}

void FleetHeat::settle_heat() {
  for (size_t kind = 0; kind < heats_.size(); ++kind) {
    const GpuRange gpus = fleet_.gpus_of(fleet_.kinds[kind]);
    heats_[kind].settle(std::span(die_w_).subspan(gpus.first, gpus.count),
                        std::span(memory_w_).subspan(gpus.first, gpus.count));
    read(kind);
  }
}

double FleetHeat::fans_w(int64_t node) const {
  const double speed = fan_[static_cast<size_t>(node)];
  return fleet_.kinds[fleet_.kind_of_node(node)].cooling.fan_w * speed * speed * speed;
}

double FleetHeat::node_w(int64_t node, double gpus_w) const {
  return fleet_.kinds[fleet_.kind_of_node(node)].node.ac_w(gpus_w, fans_w(node));
}

double FleetHeat::cluster_w() const {
  return base::sum(fleet_.kinds, [&](const FleetKind& kind) { return kind_w(kind); });
}

double FleetHeat::kind_w(const FleetKind& kind) const {
  double watts = 0;
  for (int64_t node = kind.first_node; node < kind.first_node + kind.nodes; ++node)
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
  for (size_t gpu = gpus.first; gpu < gpus.first + gpus.count && !fleet_.other_w.empty(); ++gpu) {
    if (!fleet_.is_others(gpu)) continue;
    memory_w_[gpu] = fleet_.other_memory_w[gpu];
    die_w_[gpu] = watts[gpu] - memory_w_[gpu];
  }
  const auto per_node = static_cast<size_t>(fleet_.gpus_per_node);
  for (size_t node = gpus.first / per_node; node < (gpus.first + gpus.count) / per_node; ++node)
    node_gpus_w_[node] = base::sum(watts.subspan(node * per_node, per_node));
}

double FleetHeat::hottest_c(size_t node) const {
  const auto per_node = static_cast<std::ptrdiff_t>(fleet_.gpus_per_node);
  const auto first = die_c().begin() + static_cast<std::ptrdiff_t>(node) * per_node;
  return *std::max_element(first, first + per_node);
}

double FleetHeat::wanted_fan(size_t node, double hottest_c) const {
  if (fleet_.fan[node] > 0) return fleet_.fan[node];
  const size_t kind = fleet_.kind_of_node(static_cast<int64_t>(node));
  return physics::fan_speed(fleet_.kinds[kind].cooling, hottest_c);
}

/// By the dies as they are.
void FleetHeat::set_coolant(double fan_weight) {
  std::vector<double> now_c(fan_.size());
  for (size_t node = 0; node < fan_.size(); ++node) now_c[node] = hottest_c(node);
  for (const FleetKind& kind : fleet_.kinds) move_fans(kind, fan_weight, now_c);
}

/// Dies and fans where they rest with each other. Half of the way to what a controller wants is as
/// a rule near enough for a round. Slow fans cool so much less that dies answer a step by more than
/// three times itself, and halves go round for ever: such nodes go along the line through their
/// last two speeds. So do all of them `to_the_end`, where a play leaves fans as its controllers
/// happen to have them.
void FleetHeat::settle_coolant(bool to_the_end) {
  constexpr int kMostRounds = 20;
  constexpr double kSameSpeed = 1e-4;
  const auto gap = [&](size_t node) { return wanted_fan(node, hottest_c(node)) - fan_[node]; };
  std::vector<double> last_fan = fan_, last_gap(fan_.size());
  for (size_t node = 0; node < fan_.size(); ++node) last_gap[node] = gap(node);
  set_coolant(0.5);
  settle_heat();
  std::vector<size_t> overshot;
  for (size_t node = 0; node < fan_.size(); ++node) {
    const double now = gap(node);
    const bool moves = fan_[node] != last_fan[node] && std::abs(now) > kSameSpeed;
    if ((to_the_end && moves) ||
        (now * last_gap[node] < 0 && std::abs(now) > 0.5 * std::abs(last_gap[node])))
      overshot.push_back(node);
  }
  for (int round = 0; round < kMostRounds && !overshot.empty(); ++round) {
    std::vector<double> to = fan_;
    for (const size_t node : overshot) {
      const double now = gap(node), slope = (now - last_gap[node]) / (fan_[node] - last_fan[node]);
      const size_t kind = fleet_.kind_of_node(static_cast<int64_t>(node));
      to[node] = std::clamp(fan_[node] - now / slope, fleet_.kinds[kind].cooling.fan_lowest, 1.0);
      last_fan[node] = fan_[node];
      last_gap[node] = now;
    }
    for (const FleetKind& kind : fleet_.kinds) set_fans(kind, to);
    settle_heat();
    std::erase_if(overshot, [&](size_t node) {
      return std::abs(gap(node)) < kSameSpeed || fan_[node] == last_fan[node];
    });
  }
}

/// Fans of a kind's nodes go the part `fan_weight` of the way to what their controller wants.
void FleetHeat::move_fans(const FleetKind& kind, double fan_weight,
                          std::span<const double> hottest_c) {
  std::vector<double> to = fan_;
  for (int64_t number = kind.first_node; number < kind.first_node + kind.nodes; ++number) {
    const auto node = static_cast<size_t>(number);
    const double part = fleet_.fan[node] > 0 ? 1 : fan_weight;
    to[node] += part * (wanted_fan(node, hottest_c[node]) - fan_[node]);
  }
  set_fans(kind, to);
}

void FleetHeat::set_fans(const FleetKind& kind, std::span<const double> speeds) {
  const auto number_of_kind = static_cast<size_t>(&kind - fleet_.kinds.data());
  physics::Heat& heat = heats_[number_of_kind];
  for (int64_t number = kind.first_node; number < kind.first_node + kind.nodes; ++number) {
    const auto node = static_cast<size_t>(number);
    fan_[node] = speeds[node];
    inlet_c_[node] = fleet_.inlet_c[node] +
                     kind.cooling.recirculation_k_per_w * node_w(number, node_gpus_w_[node]);
    heat.set_inlet(number - kind.first_node, inlet_c_[node]);
    heat.set_flow(number - kind.first_node, std::max(kLeastFlow, fan_[node] * fleet_.open[node]));
  }
  read(number_of_kind);
}

/// The ceiling that brings a die above its limit back to it, by how power follows the clock and the
/// settled temperature follows power; `weight`: part of the way. What the search for rest passes on
/// its way is no temperature that a die has: hardware halves no clock here.
void FleetHeat::move_ceiling(const GpuStep& now, size_t gpu, double weight) {
  const size_t number = fleet_.kind_of(gpu);
  const physics::GpuPower& kind = fleet_.kinds[number].gpu;
  if (kind.target_c <= 0) return;
  const double die_c = this->die_c()[gpu];
  double over_k = die_c - kind.target_c;
  if (kind.memory_limit_c > 0) over_k = std::max(over_k, memory_c()[gpu] - kind.memory_limit_c);
  double& ceiling_hz = ceiling_hz_[gpu];
  if (over_k <= 0 && ceiling_hz <= 0) return;
  const double from_hz = ceiling_hz > 0 ? ceiling_hz : now.clock_hz;
  const double w_per_hz =
      std::max(1e-9, kPowerExponent * (now.core_w + now.active_w) / now.clock_hz);
  const size_t in_kind = gpu - fleet_.gpus_of(fleet_.kinds[number]).first;
  const double k_per_hz = heats_[number].die_k_per_w(static_cast<int64_t>(in_kind)) * w_per_hz;
  const double to_hz = from_hz - weight * (over_k + kMarginC) / k_per_hz;
  ceiling_hz = std::max(to_hz, kind.clocks.lowest_hz);
  moved_clock_ = std::max(moved_clock_, std::abs(ceiling_hz - from_hz) / kind.clocks.highest_hz);
  if (ceiling_hz >= kind.clocks.highest_hz) ceiling_hz = 0;
}

void FleetHeat::move_ceilings(const FleetStep& step, double weight) {
  moved_clock_ = 0;
  for (size_t gpu = 0; gpu < step.gpus.size(); ++gpu)
    if (!fleet_.is_others(gpu)) move_ceiling(step.gpus[gpu], gpu, weight);
}

void FleetHeat::note_moves(const std::vector<double>& before_c) {
  const auto now_c = die_c();
  moved_k_ = 0;
  for (size_t gpu = 0; gpu < before_c.size(); ++gpu)
    moved_k_ = std::max(moved_k_, std::abs(now_c[gpu] - before_c[gpu]));
}

void FleetHeat::settle(const FleetStep& step, double weight) {
  const std::vector<double> before_c(die_c().begin(), die_c().end());
  take_power(step, weight);
  settle_coolant(false);
  move_ceilings(step, 0.7);
  note_moves(before_c);
}

void FleetHeat::settle(std::span<const double> watts, std::span<const double> memory_w,
                       bool to_the_end) {
  const std::vector<double> before_c(die_c().begin(), die_c().end());
  take_power(watts, memory_w);
  settle_heat();
  settle_coolant(to_the_end);
  moved_clock_ = 0;
  note_moves(before_c);
}

void FleetHeat::resume(const Moment& moment) {
  for (size_t kind = 0; kind < heats_.size(); ++kind) heats_[kind].resume(moment.places_c[kind]);
  for (const FleetKind& kind : fleet_.kinds) set_fans(kind, moment.fan);
}

void FleetHeat::advance(size_t part, double dt_s, std::span<const double> watts,
                        std::span<const physics::Load> loads) {
  const Part& now = parts_[part];
  const FleetKind& kind = fleet_.kinds[now.kind];
  row_memory_w_.resize(loads.size());
  for (size_t row = 0; row < loads.size(); ++row)
    row_memory_w_[row] = kind.gpu.memory_heat_w(loads[row]);
  take_power(now.gpus, watts, row_memory_w_);
  const GpuRange all = fleet_.gpus_of(kind);
  heats_[now.kind].advance_part(now.of_heat, dt_s, std::span(die_w_).subspan(all.first, all.count),
                                std::span(memory_w_).subspan(all.first, all.count));
  read(now.kind, now.gpus);
  hottest_ks_.resize(fan_.size());
  const auto per_node = static_cast<size_t>(fleet_.gpus_per_node);
  for (size_t node = now.gpus.first / per_node; node < (now.gpus.first + now.gpus.count) / per_node;
       ++node)
    hottest_ks_[node] += dt_s * hottest_c(node);
}

void FleetHeat::move_coolant(double dt_s) {
  for (size_t number = 0; number < since_fan_s_.size(); ++number) {
    const FleetKind& kind = fleet_.kinds[number];
    double& since_s = since_fan_s_[number];
    since_s += dt_s;
    if (since_s < kind.cooling.fan_period_s) continue;
    // Controllers follow the mean of their period, not what a step does to a die.
    const auto nodes =
        std::span(hottest_ks_)
            .subspan(static_cast<size_t>(kind.first_node), static_cast<size_t>(kind.nodes));
    for (double& sum : nodes) sum /= since_s;
    move_fans(kind, 0.5, hottest_ks_);
    std::ranges::fill(nodes, 0.0);
    since_s = 0;
  }
}

void FleetHeat::start_at(double celsius) {
  for (size_t kind = 0; kind < heats_.size(); ++kind) {
    heats_[kind].start_at(celsius);
    read(kind);
  }
}

void FleetHeat::warm_to(double celsius) {
  double above_k = 0, wanted_k = 0;
  for (size_t gpu = 0; gpu < fleet_.role.size(); ++gpu) {
    if (fleet_.role[gpu] < 0) continue;
    const double inlet_c = inlet_c_[gpu / static_cast<size_t>(fleet_.gpus_per_node)];
    above_k += fleet_.weight_of(gpu) * (die_c()[gpu] - inlet_c);
    wanted_k += fleet_.weight_of(gpu) * (celsius - inlet_c);
  }
  std::ranges::fill(ceiling_hz_, 0.0);                   // thermal governors find them anew
  if (above_k <= 0 || wanted_k <= 0) start_at(celsius);  // nothing to scale
  for (size_t kind = 0; above_k > 0 && wanted_k > 0 && kind < heats_.size(); ++kind) {
    heats_[kind].scale_above_inlet(wanted_k / above_k);
    read(kind);
  }
  set_coolant(1);
  begin_fan_periods();
}

/// So that when controllers look does not depend on what was played before.
void FleetHeat::begin_fan_periods() {
  std::ranges::fill(since_fan_s_, 0.0);
  std::ranges::fill(hottest_ks_, 0.0);
}

double FleetHeat::idle_clock_hz(const FleetKind& kind, IdleClock clock) const {
  return clock == IdleClock::kLowest ? kind.gpu.clocks.lowest_hz : kind.gpu.clocks.highest_hz;
}

void FleetHeat::cool_down(IdleClock clock) {
  FleetStep idle;
  idle.gpus.resize(static_cast<size_t>(fleet_.gpus()));
  for (int round = 0; round < 20; ++round) {
    for (size_t gpu = 0; gpu < idle.gpus.size(); ++gpu) {
      const physics::Load nothing{.awake = false};
      const FleetKind& kind = fleet_.of_gpu(gpu);
      const double clock_hz = idle_clock_hz(kind, clock);
      idle.gpus[gpu] = {
          .mean_w = kind.gpu.power_w(clock_hz, die_c()[gpu], nothing, fleet_.silicon[gpu]),
          .memory_w = kind.gpu.memory_heat_w(nothing),
          .clock_hz = clock_hz};
    }
    settle(idle);
    if (moved_k_ < 0.01) break;
  }
  begin_fan_periods();
}

double FleetHeat::stored_j() const { return base::sum(heats_, &physics::Heat::stored_j); }
double FleetHeat::carried_j() const { return base::sum(heats_, &physics::Heat::carried_j); }

double FleetHeat::shut_down() const {
  double count = 0;
  for (size_t gpu = 0; gpu < ceiling_hz_.size(); ++gpu) {
    const double most_c = fleet_.of_gpu(gpu).gpu.shutdown_c;
    if (most_c > 0 && die_c()[gpu] >= most_c) count += fleet_.weight_of(gpu);
  }
  return count;
}

}  // namespace ergometer::engine
