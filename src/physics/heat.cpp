#include "physics/heat.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "physics/heat_layout.h"

namespace ergometer::physics {

struct Heat::State {
  /// A sum that keeps what each addition rounds away (Neumaier).
  struct Sum {
    double total = 0, rest = 0;
    void add(double value) {
      const double next = total + value;
      rest += std::abs(total) >= std::abs(value) ? (total - next) + value : (value - next) + total;
      total = next;
    }
    double value() const { return total + rest; }
  };

  State(const CoolingParameters& parameters, const spec::Node& node, int64_t nodes,
        std::span<const double> die_resistance);

  void warm(size_t first, size_t count, double celsius);
  template <class Use>
  void change_places(const Use& use);
  void begin();
  StepArrays arrays(std::span<const double> die_w, std::span<const double> memory_w);
  double heat_content_j() const;
  void tell_coolant(const Group& group, const Block& block, std::vector<double>& told_c) const;

  CoolingParameters cooling;
  HeatLayout layout;
  size_t gpus_per_node, gpus;
  std::vector<double> inlet_c;  ///< one a node
  std::vector<double> flow;     ///< one a node, as set
  std::vector<int> flow_bins;   ///< and as steps take it
  std::vector<double> places;   ///< four a GPU; in force unless blocks are
  std::vector<double> die_c, memory_c;
  bool begun = false, in_blocks = false, flow_changed = true;
  bool content_known = false;  ///< since the start, or since all settled
  double content_at_start_j = 0;
  Sum carried;
};

Heat::State::State(const CoolingParameters& parameters, const spec::Node& node, int64_t nodes,
                   std::span<const double> die_resistance)
    : cooling(parameters),
      layout(parameters, node, nodes, die_resistance),
      gpus_per_node(static_cast<size_t>(node.gpus)),
      gpus(static_cast<size_t>(nodes) * gpus_per_node),
      inlet_c(static_cast<size_t>(nodes), parameters.inlet_c),
      flow(static_cast<size_t>(nodes), 1),
      flow_bins(static_cast<size_t>(nodes), bin_of(1, kFlowBins)),
      places(gpus * HeatNetwork::kPlaces),
      die_c(gpus),
      memory_c(gpus) {
  warm(0, gpus, parameters.inlet_c);
}

/// All of these GPUs at one temperature, before anything has begun.
void Heat::State::warm(size_t first, size_t count, double celsius) {
  std::fill_n(places.begin() + static_cast<int64_t>(first * HeatNetwork::kPlaces),
              count * HeatNetwork::kPlaces, celsius);
  std::fill_n(die_c.begin() + static_cast<int64_t>(first), count, celsius);
  std::fill_n(memory_c.begin() + static_cast<int64_t>(first), count, celsius);
}

/// Goes on, with a new account, from what `use(celsius, inlet_c)` makes of each place.
template <class Use>
void Heat::State::change_places(const Use& use) {
  for (size_t gpu = 0; gpu < gpus; ++gpu) {
    double* const places_c = &places[gpu * HeatNetwork::kPlaces];
    for (int place = 0; place < HeatNetwork::kPlaces; ++place)
      places_c[place] = use(places_c[place], inlet_c[gpu / gpus_per_node]);
    die_c[gpu] = places_c[HeatNetwork::kDie];
    memory_c[gpu] = places_c[HeatNetwork::kMemory];
  }
  begun = true;
  in_blocks = content_known = false;
  carried = {};
}

/// Brings temperatures into blocks, in the order that the flows ask for.
void Heat::State::begin() {
  if (in_blocks && !flow_changed) return;
  if (in_blocks) layout.read(places);
  if (flow_changed) layout.arrange(flow_bins);
  layout.write(places);
  begun = in_blocks = true;
  flow_changed = false;
  if (!content_known) content_at_start_j = heat_content_j();
  content_known = true;
}

/// Above the nominal inlet's temperature, which keeps the numbers small.
double Heat::State::heat_content_j() const {
  const double j_per_k[] = {cooling.die_j_per_k, cooling.spreader_j_per_k, cooling.sink_j_per_k,
                            cooling.memory_j_per_k};
  Sum sum;
  for (const Block& block : layout.blocks())
    for (int row = 0; row < block.gpus_in_lane * HeatNetwork::kPlaces; ++row)
      for (int l = 0; l < block.lanes; ++l)
        sum.add(j_per_k[row % HeatNetwork::kPlaces] *
                (block.values[row * kSideBySide + l] - cooling.inlet_c));
  return sum.value();
}

/// What the GPUs of a block breathe: sinks nearer the inlet warm it.
void Heat::State::tell_coolant(const Group& group, const Block& block,
                               std::vector<double>& told_c) const {
  for (int i = 0; i < block.gpus_in_lane; ++i)
    for (int l = 0; l < block.lanes; ++l) {
      const HeatNetwork& network = group.lanes[static_cast<size_t>(l)]->network;
      const double enters_c = inlet_c[static_cast<size_t>(block.nodes[l])];
      double& breathed_c = told_c[static_cast<size_t>(block.gpus[i * kSideBySide + l])];
      breathed_c = enters_c;
      for (int j = 0; j < i; ++j) {
        const int sink = j * HeatNetwork::kPlaces + HeatNetwork::kSink;
        breathed_c +=
            network.coolant.at(i, sink) * (block.values[sink * kSideBySide + l] - enters_c);
      }
    }
}

StepArrays Heat::State::arrays(std::span<const double> die_w, std::span<const double> memory_w) {
  ERGOMETER_CHECK(die_w.size() == gpus && memory_w.size() == gpus, "one power a GPU");
  return {die_w.data(), memory_w.data(), inlet_c.data(), die_c.data(), memory_c.data()};
}

Heat::Heat(const CoolingParameters& cooling, const spec::Node& node, int64_t nodes,
           std::span<const double> die_resistance)
    : state_(std::make_unique<State>(cooling, node, nodes, die_resistance)) {}
Heat::~Heat() = default;
Heat::Heat(Heat&&) noexcept = default;
Heat& Heat::operator=(Heat&&) noexcept = default;

int64_t Heat::gpus() const { return static_cast<int64_t>(state_->gpus); }

void Heat::set_inlet(int64_t node, double inlet_c) {
  const auto index = static_cast<size_t>(node);
  state_->inlet_c[index] = inlet_c;
  if (!state_->begun) state_->warm(index * state_->gpus_per_node, state_->gpus_per_node, inlet_c);
}

void Heat::set_flow(int64_t node, double flow) {
  const int bin = bin_of(flow, kFlowBins);
  state_->flow[static_cast<size_t>(node)] = std::max(flow, 1 / kFlowBins);
  int& now = state_->flow_bins[static_cast<size_t>(node)];
  if (now != bin) state_->flow_changed = true;
  now = bin;
}

void Heat::start_at(double celsius) {
  state_->begun = state_->in_blocks = state_->content_known = false;
  state_->carried = {};
  state_->warm(0, state_->gpus, celsius);
}

std::vector<double> Heat::places_c() const {
  if (state_->in_blocks) state_->layout.read(state_->places);
  return state_->places;
}

void Heat::resume(std::span<const double> places_c) {
  ERGOMETER_CHECK(places_c.size() == state_->places.size(), "four temperatures a GPU");
  std::ranges::copy(places_c, state_->places.begin());
  state_->change_places([](double celsius, double) { return celsius; });
}

void Heat::scale_above_inlet(double factor) {
  State& state = *state_;
  if (state.in_blocks) state.layout.read(state.places);
  state.change_places(
      [&](double celsius, double inlet_c) { return inlet_c + factor * (celsius - inlet_c); });
}

size_t Heat::parts() const { return state_->layout.parts(); }
int64_t Heat::first_node(size_t part) const { return state_->layout.first_node(part); }

void Heat::advance(double dt_s, std::span<const double> die_w, std::span<const double> memory_w) {
  for (size_t part = 0; part < parts(); ++part) advance_part(part, dt_s, die_w, memory_w);
}

void Heat::advance_part(size_t part, double dt_s, std::span<const double> die_w,
                        std::span<const double> memory_w) {
  ERGOMETER_CHECK(dt_s >= 0 && std::isfinite(dt_s), "a stretch of time");
  const StepArrays arrays = state_->arrays(die_w, memory_w);
  state_->begin();
  for (Group& group : state_->layout.groups_of(part)) {
    state_->layout.prepare(group, dt_s);
    for (const Block& block : state_->layout.blocks().subspan(group.first, group.count))
      state_->carried.add(group.shared != nullptr ? step_block(*group.shared, block, arrays)
                                                  : step_block(group.own, block, arrays));
  }
}

void Heat::settle(std::span<const double> die_w, std::span<const double> memory_w) {
  State& state = *state_;
  ERGOMETER_CHECK(die_w.size() == state.gpus && memory_w.size() == state.gpus, "one power a GPU");
  state.layout.settle(state.flow, die_w, memory_w, state.places);
  // What the network gives stands above the air that comes in.
  state.change_places([](double above_k, double inlet_c) { return above_k + inlet_c; });
}

std::span<const double> Heat::die_c() const { return state_->die_c; }
std::span<const double> Heat::memory_c() const { return state_->memory_c; }

std::vector<double> Heat::coolant_c() const {
  std::vector<double> coolant_c(state_->gpus);
  for (size_t gpu = 0; gpu < coolant_c.size(); ++gpu)
    coolant_c[gpu] = state_->inlet_c[gpu / state_->gpus_per_node];
  if (!state_->begun) return coolant_c;
  state_->begin();
  for (const Group& group : state_->layout.groups())
    for (const Block& block : state_->layout.blocks().subspan(group.first, group.count))
      state_->tell_coolant(group, block, coolant_c);
  return coolant_c;
}

double Heat::die_k_per_w(int64_t gpu) const {
  return state_->layout.die_k_per_w(gpu,
                                    state_->flow[static_cast<size_t>(gpu) / state_->gpus_per_node]);
}

double Heat::stored_j() const {
  return state_->content_known ? state_->heat_content_j() - state_->content_at_start_j : 0;
}
double Heat::carried_j() const { return state_->carried.value(); }

}  // namespace ergometer::physics
