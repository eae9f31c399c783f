#pragma once

#include <span>
#include <vector>

#include "physics/heat.h"
#include "spec/job/cluster.h"

namespace ergometer::physics {

/// Row-major, small.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int rows_, int columns_)
      : rows(rows_),
        columns(columns_),
        values(static_cast<size_t>(rows_) * static_cast<size_t>(columns_)) {}
  double& at(int row, int column) { return values[index(row, column)]; }
  double at(int row, int column) const { return values[index(row, column)]; }
  bool operator==(const Matrix&) const = default;

 private:
  size_t index(int row, int column) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column);
  }
};

/// GPUs that influence each other's temperature: those of one lane of the airflow, or of several
/// lanes that a two-die module joins.
struct Lane {
  std::vector<int> gpus;  ///< indices in the node, front to rear within each of its lanes
  /// `upstream[i][j]`: GPU gpus[j] warms the coolant of gpus[i], being in a row nearer the inlet.
  std::vector<std::vector<bool>> upstream;
  std::vector<int> twin;  ///< position in `gpus` of the other die of the module, or -1

  bool same_shape(const Lane& other) const {
    return upstream == other.upstream && twin == other.twin;
  }
};

/// What a step over one lane has room for.
inline constexpr int kMostGpusInLane = 64;

/// Every GPU of the node is in exactly one lane. GPUs in the same row of a lane do not warm each
/// other, both warm those behind.
std::vector<Lane> lanes_of(const spec::Node& node);

/// A lane's heat flows as a linear system: x' = rate x + P / C, with x the excess over the inlet's
/// temperature. State 4 i + kDie ... kMemory of GPU i, input 2 i for its die, 2 i + 1 for its HBM.
struct HeatNetwork {
  enum Place { kDie, kSpreader, kSink, kMemory, kPlaces };

  Matrix rate;                      ///< 1/s
  std::vector<double> j_per_k;      ///< one a state
  Matrix coolant;                   ///< excess of each GPU's coolant, K for each K of each state
  std::vector<double> out_w_per_k;  ///< heat that all sinks give the coolant, for each state

  int gpus() const { return rate.rows / kPlaces; }
};

/// `die_resistance`: factor for each of the lane's GPUs; `flow`: share of the nominal one, > 0.
HeatNetwork heat_network(const CoolingParameters& cooling, const Lane& lane,
                         std::span<const double> die_resistance, double flow);

}  // namespace ergometer::physics
