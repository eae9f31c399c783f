#pragma once

namespace ergometer::physics {

/// Energy that work takes out of one GPU, in joules, by what spends it. Core energies hold at the
/// voltage of the GPU's highest clock and scale with the square of the voltage; HBM and the links
/// have rails and clocks of their own.
struct Energy {
  double tensor_j = 0;  ///< matrix units, operand delivery included
  double vector_j = 0;  ///< everything else the SMs compute
  double cache_j = 0;   ///< L2 and the network between it and the SMs
  double memory_j = 0;  ///< HBM, its interface included
  double link_j = 0;    ///< NVLink or xGMI, PCIe towards the network card

  double core_j() const { return tensor_j + vector_j + cache_j; }
  double total_j() const { return core_j() + memory_j + link_j; }
  Energy& operator+=(const Energy& other) {
    tensor_j += other.tensor_j;
    vector_j += other.vector_j;
    cache_j += other.cache_j;
    memory_j += other.memory_j;
    link_j += other.link_j;
    return *this;
  }
  friend Energy operator*(double factor, const Energy& energy) {
    return {factor * energy.tensor_j, factor * energy.vector_j, factor * energy.cache_j,
            factor * energy.memory_j, factor * energy.link_j};
  }
};

}  // namespace ergometer::physics
