#include "physics/heat_step.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace ergometer::physics {
namespace {

constexpr int kPlaces = HeatNetwork::kPlaces, kColumns = StepTable::kColumns;
static_assert(kPlaces == 4, "multiply is written for four states a GPU");

/// What one step works on, eight lanes side by side.
struct alignas(kSideBySide * sizeof(double)) Desk {
  double columns[kSideBySide * kColumns * kMostGpusInLane];  ///< excess temperatures and powers
  double carried[kSideBySide];
};

void scatter(const Block& block, const StepArrays& arrays) {
  for (int i = 0; i < block.gpus_in_lane; ++i) {
    const double* die = block.values + (i * kPlaces + HeatNetwork::kDie) * kSideBySide;
    const double* memory = block.values + (i * kPlaces + HeatNetwork::kMemory) * kSideBySide;
    const int32_t* number = block.gpus + i * kSideBySide;
    for (int l = 0; l < kSideBySide; ++l) {
      const int32_t gpu = number[l];
      arrays.die_c[gpu] = die[l];
      arrays.memory_c[gpu] = memory[l];
    }
  }
}

/// Numbers of lanes that lie far apart in the cluster's arrays. Put together in a register: a
/// vector that is read right behind the single numbers it was written as waits for them.
template <class Lanes, size_t... l>
[[gnu::always_inline]] inline void gather(const double* from, const int32_t* at, Lanes& to,
                                          std::index_sequence<l...>) {
  Lanes together = {};
  ((together[l] = from[at[l]]), ...);
  to = together;
}

/// The step's arithmetic for lanes `first` to `first + Width`. Every operation is one lane's own,
/// so that the width does not change a bit of the result.
template <int Width, class Table>
[[gnu::always_inline]] inline void multiply(const Table& table, const Block& block,
                                            const StepArrays& arrays, Desk& desk, int first) {
  typedef double Lanes __attribute__((vector_size(Width * sizeof(double)), may_alias));
  constexpr auto kEach = std::make_index_sequence<Width>();
  const auto at = [&](double* rows, int row) -> Lanes& {
    return *reinterpret_cast<Lanes*>(rows + row * kSideBySide + first);
  };
  // A number of the table: all lanes', or one a lane.
  const auto of_lanes = [&](const auto& number) -> decltype(auto) {
    if constexpr (std::is_same_v<Table, StepTable>)
      return (number);
    else
      return *reinterpret_cast<const Lanes*>(number.at + first);
  };
  Lanes inlet;
  gather(arrays.inlet_c, block.nodes + first, inlet, kEach);
  for (int i = 0; i < table.gpus; ++i) {
    for (int place = 0; place < kPlaces; ++place)
      at(desk.columns, i * kColumns + place) = at(block.values, i * kPlaces + place) - inlet;
    const int32_t* numbers = block.gpus + i * kSideBySide + first;
    gather(arrays.die_w, numbers, at(desk.columns, i * kColumns + kPlaces), kEach);
    gather(arrays.memory_w, numbers, at(desk.columns, i * kColumns + kPlaces + 1), kEach);
  }

  const auto* factor = table.rows.data();
  for (int i = 0; i < table.gpus; ++i) {
    Lanes die = {}, spreader = {}, sink = {}, memory = {};
    for (int c = 0; c < table.used[static_cast<size_t>(i)]; ++c, factor += kPlaces) {
      const Lanes value = at(desk.columns, c);
      die += of_lanes(factor[0]) * value;
      spreader += of_lanes(factor[1]) * value;
      sink += of_lanes(factor[2]) * value;
      memory += of_lanes(factor[3]) * value;
    }
    at(block.values, i * kPlaces) = die + inlet;
    at(block.values, i * kPlaces + 1) = spreader + inlet;
    at(block.values, i * kPlaces + 2) = sink + inlet;
    at(block.values, i * kPlaces + 3) = memory + inlet;
  }
  Lanes carried = {};
  for (int c = 0; c < table.gpus * kColumns; ++c)
    carried += of_lanes(table.carried[static_cast<size_t>(c)]) * at(desk.columns, c);
  at(desk.carried, 0) = carried;
}

template <class Table>
using Multiply = void (*)(const Table&, const Block&, const StepArrays&, Desk&);

template <class Table>
void multiply_pairs(const Table& table, const Block& block, const StepArrays& arrays, Desk& desk) {
  for (int first = 0; first < kSideBySide; first += 2)
    multiply<2>(table, block, arrays, desk, first);
}

#if defined(__x86_64__)
template <class Table>
[[gnu::target("avx2")]] void multiply_fours(const Table& table, const Block& block,
                                            const StepArrays& arrays, Desk& desk) {
  for (int first = 0; first < kSideBySide; first += 4)
    multiply<4>(table, block, arrays, desk, first);
}
template <class Table>
[[gnu::target("avx512f")]] void multiply_eights(const Table& table, const Block& block,
                                                const StepArrays& arrays, Desk& desk) {
  multiply<8>(table, block, arrays, desk, 0);
}
template <class Table>
Multiply<Table> widest() {
  if (__builtin_cpu_supports("avx512f")) return multiply_eights<Table>;
  if (__builtin_cpu_supports("avx2")) return multiply_fours<Table>;
  return multiply_pairs<Table>;
}
#else
template <class Table>
Multiply<Table> widest() {
  return multiply_pairs<Table>;
}
#endif

template <class Table>
double step_by(const Table& table, const Block& block, const StepArrays& arrays) {
  static const Multiply<Table> multiply = widest<Table>();
  Desk desk;
  multiply(table, block, arrays, desk);
  scatter(block, arrays);
  double carried_j = 0;
  for (int l = 0; l < block.lanes; ++l) carried_j += desk.carried[l];
  return carried_j;
}

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
  for (int c = 0; c < gpus * kColumns; ++c) {
    const auto gpu = static_cast<size_t>(c / kColumns), place = static_cast<size_t>(c % kColumns);
    carried.push_back(place < kPlaces ? propagator.carried_state[gpu * kPlaces + place]
                                      : propagator.carried_input[gpu * 2 + place - kPlaces]);
  }
}

BlockTable::BlockTable(const std::array<const StepTable*, kSideBySide>& lanes)
    : gpus(lanes[0]->gpus), used(lanes[0]->used) {
  for (const StepTable* lane : lanes)
    for (size_t i = 0; i < used.size(); ++i) used[i] = std::max(used[i], lane->used[i]);
  size_t count = 0;
  for (const int columns : used) count += static_cast<size_t>(columns * kPlaces);
  rows.resize(count);
  carried.resize(lanes[0]->carried.size());
  for (size_t l = 0; l < kSideBySide; ++l) {
    const double* from = lanes[l]->rows.data();
    Row* to = rows.data();
    for (size_t i = 0; i < used.size(); ++i) {
      const int own = lanes[l]->used[i] * kPlaces;
      for (int n = 0; n < own; ++n) to[n].at[l] = *from++;
      to += used[i] * kPlaces;
    }
    for (size_t c = 0; c < carried.size(); ++c) carried[c].at[l] = lanes[l]->carried[c];
  }
}

double step_block(const StepTable& table, const Block& block, const StepArrays& arrays) {
  return step_by(table, block, arrays);
}

double step_block(const BlockTable& table, const Block& block, const StepArrays& arrays) {
  return step_by(table, block, arrays);
}

}  // namespace ergometer::physics
