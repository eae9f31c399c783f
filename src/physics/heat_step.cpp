#include "physics/heat_step.h"

#include "base/check.h"

#if defined(__x86_64__) && !defined(ERGOMETER_SANITIZED)
#define ERGOMETER_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ERGOMETER_WIDTHS
#endif

namespace ergometer::physics {
namespace {

constexpr int kPlaces = HeatNetwork::kPlaces, kColumns = StepTable::kColumns;

/// Eight doubles; the compiler uses the widest instructions there are. Every operation is element
/// by element, so the width does not change a bit of the result.
typedef double Eight __attribute__((vector_size(kSideBySide * sizeof(double))));
static_assert(kPlaces == 4, "step_rows is written for four states a GPU");

/// `column[c]` for the six columns of GPU `gpu`: excess temperatures, powers.
inline void load(const Block& block, const StepArrays& arrays, const double* inlet, int gpu,
                 double* column) {
  const double* values = block.values + gpu * kPlaces * kSideBySide;
  for (int place = 0; place < kPlaces; ++place)
    for (int l = 0; l < kSideBySide; ++l)
      column[place * kSideBySide + l] = values[place * kSideBySide + l] - inlet[l];
  const int32_t* number = block.gpus + gpu * kSideBySide;
  for (int l = 0; l < kSideBySide; ++l) {
    column[kPlaces * kSideBySide + l] = arrays.die_w[number[l]];
    column[(kPlaces + 1) * kSideBySide + l] = arrays.memory_w[number[l]];
  }
}

ERGOMETER_WIDTHS double step(const StepTable& table, const Block& block, const StepArrays& arrays) {
  alignas(64) double columns[kMostGpusInLane * kColumns * kSideBySide];
  alignas(64) double inlet[kSideBySide];
  for (int l = 0; l < kSideBySide; ++l) inlet[l] = arrays.inlet_c[block.nodes[l]];
  for (int i = 0; i < table.gpus; ++i)
    load(block, arrays, inlet, i, columns + i * kColumns * kSideBySide);

  const auto* x = reinterpret_cast<const Eight*>(columns);
  const Eight in = *reinterpret_cast<const Eight*>(inlet);
  const double* rows = table.rows.data();
  Eight sinks[kMostGpusInLane];
  for (int i = 0; i < table.gpus; ++i) {
    Eight die = {}, spreader = {}, sink = {}, memory = {};
    for (int c = 0; c < table.used[static_cast<size_t>(i)]; ++c, rows += kPlaces) {
      const Eight value = x[c];
      die += rows[0] * value;
      spreader += rows[1] * value;
      sink += rows[2] * value;
      memory += rows[3] * value;
    }
    auto* out = reinterpret_cast<Eight*>(block.values + i * kPlaces * kSideBySide);
    out[0] = die + in;
    out[1] = spreader + in;
    out[2] = sink + in;
    out[3] = memory + in;
    sinks[i] = sink;
  }
  Eight carried = {};
  for (int c = 0; c < table.gpus * kColumns; ++c)
    carried += table.carried[static_cast<size_t>(c)] * x[c];

  for (int i = 0; i < table.gpus; ++i) {
    Eight coolant = in;
    for (int j = 0; j < i; ++j)
      coolant += table.coolant[static_cast<size_t>(i * table.gpus + j)] * sinks[j];
    const double* values = block.values + i * kPlaces * kSideBySide;
    const int32_t* number = block.gpus + i * kSideBySide;
    for (int l = 0; l < kSideBySide; ++l) {
      arrays.coolant_c[number[l]] = coolant[l];
      arrays.die_c[number[l]] = values[HeatNetwork::kDie * kSideBySide + l];
      arrays.memory_c[number[l]] = values[HeatNetwork::kMemory * kSideBySide + l];
    }
  }
  double sum = 0;
  for (int l = 0; l < block.lanes; ++l) sum += carried[l];
  return sum;
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
  return step(table, block, arrays);
}

}  // namespace ergometer::physics
