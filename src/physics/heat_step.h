#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "physics/heat_network.h"
#include "physics/propagator.h"

namespace ergometer::physics {

/// Lanes that one vector instruction stream advances side by side. Of the type of pointers'
/// distances, which most of what is counted in it are.
inline constexpr std::ptrdiff_t kSideBySide = 8;

/// A propagator of one lane in the order in which the inner loop reads it. Columns are interleaved,
/// GPU by GPU: die, spreader, sink, memory, power of die, power of memory.
struct StepTable {
  static constexpr int kColumns = HeatNetwork::kPlaces + 2;  ///< of one GPU

  StepTable() = default;
  StepTable(const HeatNetwork& network, const Propagator& propagator);

  int gpus = 0;
  std::vector<int> used;     ///< columns behind which a GPU's rows are all zero, one a GPU
  std::vector<double> rows;  ///< GPU by GPU, column by column, the GPU's four states
  std::vector<double> carried;
};

/// One number of eight lanes, aligned for the widest instructions.
struct alignas(kSideBySide * sizeof(double)) Row {
  double at[kSideBySide];
};

/// The propagators of eight lanes of one shape, number by number.
struct BlockTable {
  BlockTable() = default;
  explicit BlockTable(const std::array<const StepTable*, kSideBySide>& lanes);

  int gpus = 0;
  std::vector<int> used;  ///< the most of any lane; what others lack is 0
  std::vector<Row> rows, carried;
};

/// Eight lanes of one shape: `values` are temperatures, place by place of the first GPU, of
/// the second ..., eight lanes each; `gpus` the number of the cluster's GPU in the same order.
struct Block {
  double* values = nullptr;  ///< of `Row`s
  const int32_t* gpus = nullptr;
  const int32_t* nodes = nullptr;  ///< one a lane
  int gpus_in_lane = 0;
  int lanes = 0;  ///< filled; the others repeat the last one
};

/// The cluster's arrays, one number a GPU, but `inlet_c` one a node.
struct StepArrays {
  const double* die_w = nullptr;
  const double* memory_w = nullptr;
  const double* inlet_c = nullptr;
  double* die_c = nullptr;
  double* memory_c = nullptr;
};

/// Advances one block, whose lanes share a propagator or have their own; returns the heat that its
/// lanes gave the coolant, J.
double step_block(const StepTable& table, const Block& block, const StepArrays& arrays);
double step_block(const BlockTable& table, const Block& block, const StepArrays& arrays);

}  // namespace ergometer::physics
