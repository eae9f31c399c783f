#include "engine/power_record.h"

#include <algorithm>

namespace ergometer::engine {

double cluster_power_w(const Fleet& fleet, const FleetStep& step, const FleetHeat& heat) {
  double cluster_w = 0;
  for (int64_t node = 0; node < fleet.nodes; ++node) {
    double gpus_w = 0;
    for (int64_t i = 0; i < fleet.gpus_per_node; ++i)
      gpus_w += step.gpus[static_cast<size_t>(node * fleet.gpus_per_node + i)].mean_w;
    cluster_w += fleet.weight[static_cast<size_t>(node)] * heat.node_w(node, gpus_w);
  }
  return cluster_w;
}

PowerRecord::PowerRecord(const Fleet& fleet)
    : fleet_(fleet), sums_(static_cast<size_t>(fleet.gpus())) {}

void PowerRecord::add(double start_s, double length_s, const FleetStep& step,
                      const FleetHeat& heat) {
  const auto die_c = heat.surroundings().die_c;
  const auto memory_c = heat.memory_c();
  for (size_t gpu = 0; gpu < sums_.size(); ++gpu) {
    GpuRecord& sum = sums_[gpu];
    const GpuStep& now = step.gpus[gpu];
    sum.mean_w += length_s * now.mean_w;
    sum.core_w += length_s * now.core_w;
    sum.active_w += length_s * now.active_w;
    sum.clock_hz += length_s * now.clock_hz;
    sum.throttled += length_s * now.throttled;
    sum.mean_c += length_s * die_c[gpu];
    sum.mean_memory_c += length_s * memory_c[gpu];
    for (size_t i = 0; i < sum.reasons.size(); ++i)
      sum.reasons[i] += length_s * static_cast<double>(now.reasons[i]);
    sum.peak_w = std::max(sum.peak_w, now.peak_w);
    sum.max_c = std::max(sum.max_c, die_c[gpu]);
    sum.max_memory_c = std::max(sum.max_memory_c, memory_c[gpu]);
  }
  const double cluster_w = cluster_power_w(fleet_, step, heat);
  periods_.push_back({.start_s = start_s, .length_s = length_s, .cluster_w = cluster_w});
  duration_s_ += length_s;
  steps_ += length_s / step.step_s;
  cluster_j_ += length_s * cluster_w;
  for (int64_t node = 0; node < fleet_.nodes; ++node) {
    const double share =
        length_s * fleet_.weight[static_cast<size_t>(node)] / static_cast<double>(fleet_.all_nodes);
    fan_ += share * heat.fan()[static_cast<size_t>(node)];
    inlet_c_ += share * heat.inlet_c()[static_cast<size_t>(node)];
    fans_w_ += share * heat.fans_w(node);
  }
}

std::vector<GpuRecord> PowerRecord::gpus() const {
  std::vector<GpuRecord> means = sums_;
  for (GpuRecord& gpu : means) {
    for (double* value : {&gpu.mean_w, &gpu.core_w, &gpu.active_w, &gpu.clock_hz, &gpu.throttled,
                          &gpu.mean_c, &gpu.mean_memory_c})
      *value /= duration_s_;
    for (double& share : gpu.reasons) share /= duration_s_;
  }
  return means;
}

}  // namespace ergometer::engine
