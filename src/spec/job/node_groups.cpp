#include "spec/job/node_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/collection.h"

namespace ergometer::spec {
namespace {

double matrix_rate(const Gpu& gpu, Precision precision) {
  const auto value = [&](const char* name, double other) {
    return gpu.parameters.value_or(name, other);
  };
  const double fp16 = value("peak_fp16", gpu.peak_bf16_flops_per_s);
  const bool narrow = precision == Precision::kFp8 || precision == Precision::kNvfp4;
  const double peak = precision == Precision::kFp32   ? value("peak_fp32", fp16)
                      : precision == Precision::kFp8  ? value("peak_fp8", fp16)
                      : precision == Precision::kBf16 ? value("peak_bf16", fp16)
                                                      : fp16;
  const double efficiency = value("gemm.efficiency", 1);
  const double clock = gpu.boost_clock_hz > 0 ? gpu.sustained_clock_hz / gpu.boost_clock_hz : 1;
  return peak * clock * (narrow ? value("gemm.fp8_efficiency", efficiency) : efficiency);
}

}  // namespace

size_t group_count(const Cluster& cluster) { return std::max<size_t>(1, cluster.groups.size()); }

const Node& node_of_group(const Cluster& cluster, size_t group) {
  return is_mixed(cluster) ? cluster.groups[group].node : cluster.node;
}

size_t group_of_node(const Cluster& cluster, int64_t node) {
  size_t group = 0;
  while (group + 1 < cluster.groups.size() && node >= cluster.groups[group].nodes)
    node -= cluster.groups[group++].nodes;
  return group;
}

const Node& node_at(const Cluster& cluster, int64_t node) {
  return node_of_group(cluster, group_of_node(cluster, node));
}

size_t group_of_rank(const Job& job, int64_t rank) {
  return group_of_node(job.cluster, job.parallelism.gpu_of(rank) / job.cluster.node.gpus);
}

std::string gpus_text(const Cluster& cluster) {
  std::vector<std::string> names;
  for (size_t group = 0; group < group_count(cluster); ++group)
    if (const std::string& name = node_of_group(cluster, group).gpu.name;
        !base::contains(names, name))
      names.push_back(name);
  return fmt::format("{}", fmt::join(names, " and "));
}

std::vector<size_t> groups_of_stage(const Job& job, int64_t stage) {
  if (!is_mixed(job.cluster)) return {0};
  std::vector<size_t> groups;
  for (int64_t i = 0; i < job.stage_ranks(); ++i)
    groups.push_back(group_of_rank(job, stage * job.stage_ranks() + i));
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

Job on_group(const Job& job, size_t group) {
  Job result = job;
  if (!is_mixed(job.cluster)) return result;
  result.cluster.node = job.cluster.groups[group].node;
  result.cluster.groups.clear();
  result.conditions.cooling = result.cluster.node.cooling;
  return result;
}

void keep_reached_groups(Job& job) {
  Cluster& cluster = job.cluster;
  if (!is_mixed(cluster)) return;
  cluster.groups.resize(group_of_node(cluster, job.nodes() - 1) + 1);
  if (cluster.groups.size() == 1) {
    cluster.nodes = cluster.groups[0].nodes;
    cluster.groups.clear();
  }
}

std::vector<double> stage_seconds_per_layer(const Job& job) {
  std::vector<double> seconds;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage) {
    double slowest = 0;
    for (const size_t group : groups_of_stage(job, stage)) {
      const double rate =
          matrix_rate(node_of_group(job.cluster, group).gpu, job.training.precision);
      slowest = std::max(slowest, rate > 0 ? 1 / rate : 1.0);
    }
    seconds.push_back(slowest);
  }
  const double quickest = *std::ranges::min_element(seconds);
  for (double& it : seconds) it /= quickest;
  return seconds;
}

std::vector<int64_t> layers_by_speed(int64_t layers, std::span<const double> seconds_per_layer) {
  std::vector<int64_t> division(seconds_per_layer.size(), 1);
  // Layer by layer to the stage that it leaves shortest: no other division has a shorter longest
  // stage.
  for (int64_t given = std::ssize(division); given < layers; ++given) {
    const auto after = [&](size_t stage) {
      return static_cast<double>(division[stage] + 1) * seconds_per_layer[stage];
    };
    size_t best = 0;
    for (size_t stage = 1; stage < division.size(); ++stage)
      if (after(stage) < after(best)) best = stage;
    ++division[best];
  }
  return division;
}

Result<void> refuse_groups(const Cluster& cluster, std::string_view who) {
  if (!is_mixed(cluster)) return {};
  std::string kinds;
  for (const NodeGroup& group : cluster.groups)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", group.nodes, group.node.name);
  return input_error("{}: cluster {} has unlike nodes ({}); allowed: nodes of one kind", who,
                     cluster.name, kinds);
}

}  // namespace ergometer::spec
