#include "physics/heat_step.h"

#include "base/check.h"

namespace ergometer::physics {
namespace {

constexpr int kPlaces = HeatNetwork::kPlaces, kColumns = StepTable::kColumns;
static_assert(kPlaces == 4, "multiply is written for four states a GPU");

/// What one step works on, eight lanes side by side.
struct alignas(kSideBySide * sizeof(double)) Desk {
  double inlet[kSideBySide];
  double columns[kSideBySide * kColumns * kMostGpusInLane];  ///< excess temperatures and powers
  double coolant[kSideBySide * kMostGpusInLane];
  double carried[kSideBySide];
};

/// Powers and inlet: lanes lie far apart in the cluster's arrays.
void gather(const Block& block, const StepArrays& arrays, Desk& desk) {
  for (int l = 0; l < kSideBySide; ++l) desk.inlet[l] = arrays.inlet_c[block.nodes[l]];
  for (int i = 0; i < block.gpus_in_lane; ++i) {
    const int32_t* __restrict number = block.gpus + i * kSideBySide;
    double* __restrict die = desk.columns + (i * kColumns + kPlaces) * kSideBySide;
    double* __restrict memory = die + kSideBySide;
    for (int l = 0; l < kSideBySide; ++l) {
      die[l] = arrays.die_w[number[l]];
      memory[l] = arrays.memory_w[number[l]];
    }
  }
}

void scatter(const Block& block, const StepArrays& arrays, const Desk& desk) {
  for (int i = 0; i < block.gpus_in_lane; ++i) {
    const double* die = block.values + (i * kPlaces + HeatNetwork::kDie) * kSideBySide;
    const double* memory = block.values + (i * kPlaces + HeatNetwork::kMemory) * kSideBySide;
    const double* coolant = desk.coolant + i * kSideBySide;
    const int32_t* number = block.gpus + i * kSideBySide;
    for (int l = 0; l < kSideBySide; ++l) {
      const int32_t gpu = number[l];
      arrays.die_c[gpu] = die[l];
      arrays.memory_c[gpu] = memory[l];
      arrays.coolant_c[gpu] = coolant[l];
    }
  }
}

/// The step's arithmetic for lanes `first` to `first + Width`. Every operation is one lane's own,
/// so that the width does not change a bit of the result.
template <int Width>
[[gnu::always_inline]] inline void multiply(const StepTable& table, const Block& block, Desk& desk,
                                            int first) {
  typedef double Lanes __attribute__((vector_size(Width * sizeof(double)), may_alias));
  const auto at = [&](double* rows, int row) -> Lanes& {
    return *reinterpret_cast<Lanes*>(rows + row * kSideBySide + first);
  };
  const Lanes inlet = at(desk.inlet, 0);
  for (int i = 0; i < table.gpus; ++i)
    for (int place = 0; place < kPlaces; ++place)
      at(desk.columns, i * kColumns + place) = at(block.values, i * kPlaces + place) - inlet;

  const double* factor = table.rows.data();
  const double* warming = table.coolant.data();
  Lanes sinks[kMostGpusInLane];
  for (int i = 0; i < table.gpus; ++i) {
    Lanes die = {}, spreader = {}, sink = {}, memory = {};
    for (int c = 0; c < table.used[static_cast<size_t>(i)]; ++c, factor += kPlaces) {
      const Lanes value = at(desk.columns, c);
      die += factor[0] * value;
      spreader += factor[1] * value;
      sink += factor[2] * value;
      memory += factor[3] * value;
    }
    at(block.values, i * kPlaces) = die + inlet;
    at(block.values, i * kPlaces + 1) = spreader + inlet;
    at(block.values, i * kPlaces + 2) = sink + inlet;
    at(block.values, i * kPlaces + 3) = memory + inlet;
    sinks[i] = sink;
    Lanes coolant = inlet;
    for (int j = 0; j < i; ++j) coolant += warming[j] * sinks[j];
    warming += table.gpus;
    at(desk.coolant, i) = coolant;
  }
  Lanes carried = {};
  for (int c = 0; c < table.gpus * kColumns; ++c)
    carried += table.carried[static_cast<size_t>(c)] * at(desk.columns, c);
  at(desk.carried, 0) = carried;
}

using Multiply = void (*)(const StepTable&, const Block&, Desk&);

void multiply_pairs(const StepTable& table, const Block& block, Desk& desk) {
  for (int first = 0; first < kSideBySide; first += 2) multiply<2>(table, block, desk, first);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void multiply_fours(const StepTable& table, const Block& block,
                                            Desk& desk) {
  for (int first = 0; first < kSideBySide; first += 4) multiply<4>(table, block, desk, first);
}
[[gnu::target("avx512f")]] void multiply_eights(const StepTable& table, const Block& block,
                                                Desk& desk) {
  multiply<8>(table, block, desk, 0);
}
Multiply widest() {
  if (__builtin_cpu_supports("avx512f")) return multiply_eights;
  if (__builtin_cpu_supports("avx2")) return multiply_fours;
  return multiply_pairs;
}
#else
Multiply widest() { return multiply_pairs; }
#endif

}  // namespace

StepTable::StepTable(const HeatNetwork& network, const Propagator& propagator)
    : gpus(network.gpus()) {
  ERGOMETER_CHECK(gpus <= kMostGpusInLane, "more GPUs in one lane than the step has room for");
  const auto coefficient = [&](int row, int column) {
    const int gpu = column / kColumns, place = column % kColumns;
    return place < kPlaces ? propagator.state.at(row, gpu * kPlaces + place)
                           : propagator.input.at(row, gpu * 2 + place - kPlaces);
  };
  for (int i = 0; i < gpus; ++i) {
    int last = 0;
    for (int c = 0; c < gpus * kColumns; ++c)
      for (int place = 0; place < kPlaces; ++place)
        if (coefficient(i * kPlaces + place, c) != 0) last = c + 1;
    used.push_back(last);
    for (int c = 0; c < last; ++c)
      for (int place = 0; place < kPlaces; ++place)
        rows.push_back(coefficient(i * kPlaces + place, c));
  }
  for (int i = 0; i < gpus; ++i)
    for (int j = 0; j < gpus; ++j)
      coolant.push_back(network.coolant.at(i, j * kPlaces + HeatNetwork::kSink));
  for (int c = 0; c < gpus * kColumns; ++c) {
    const auto gpu = static_cast<size_t>(c / kColumns), place = static_cast<size_t>(c % kColumns);
    carried.push_back(place < kPlaces ? propagator.carried_state[gpu * kPlaces + place]
                                      : propagator.carried_input[gpu * 2 + place - kPlaces]);
  }
}

double step_block(const StepTable& table, const Block& block, const StepArrays& arrays) {
  static const Multiply multiply = widest();
  Desk desk;
  gather(block, arrays, desk);
  multiply(table, block, desk);
  scatter(block, arrays, desk);
  double carried_j = 0;
  for (int l = 0; l < block.lanes; ++l) carried_j += desk.carried[l];
  return carried_j;
}

}  // namespace ergometer::physics
