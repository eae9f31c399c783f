#include "spec/job/circuits.h"

namespace ergometer::spec {

std::vector<Dimension> dimensions_of(const Fabric& fabric, int64_t nodes, int64_t stages) {
  if (fabric.kind != FabricKind::kOptical) return fabric.topology.dimensions;
  const auto& [degree, rate, when, seconds] = fabric.topology.circuits;
  const bool divided = degree > 1 && stages > 1 && nodes > stages && nodes % stages == 0;
  if (!divided) return {{"circuit", nodes, 1, 1, rate, degree}};
  const int64_t step = nodes / stages, onward = degree / 2;
  return {{"ring", step, 1, 1, rate, degree - onward}, {"stage", stages, step, 1, rate, onward}};
}

std::vector<Dimension> dimensions_of(const Job& job) {
  return dimensions_of(job.cluster.fabric, job.nodes(), job.parallelism.pp);
}

}  // namespace ergometer::spec
