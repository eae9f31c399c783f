#include "spec/job/node_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/collection.h"
#include "spec/job/matrix_peak.h"

namespace ergometer::spec {
namespace {

double matrix_rate(const Gpu& gpu, const Training& training) {
  const auto value = [&](std::string_view name, double other) {
    return gpu.parameters.value_or(name, other);
  };
  const Precision precision = training.precision;
  const bool narrow = precision == Precision::kFp8 || precision == Precision::kNvfp4;
  const double peak = value(matrix_peak(gpu, training, precision), gpu.peak_bf16_flops_per_s);
  const double efficiency = value("gemm.efficiency", 1);
  return peak * clocked_share(gpu, training, precision) *
         (narrow ? value("gemm.fp8_efficiency", efficiency) : efficiency);
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

const Gpu& most_common_gpu(const Cluster& cluster, int64_t gpus) {
  if (!is_mixed(cluster)) return cluster.node.gpu;
  std::map<std::string_view, int64_t> vendors;
  std::map<std::string_view, std::pair<int64_t, const Gpu*>> kinds;
  for (const auto& [node, nodes] : cluster.groups) {
    auto& [count, gpu] = kinds[node.gpu.name];
    const int64_t here = std::min(gpus, nodes * node.gpus);
    count += here;
    vendors[node.gpu.vendor] += here;
    gpus -= here;
    gpu = &node.gpu;
  }
  const auto of_vendor = [&](const auto& it) {
    const auto& [count, gpu] = it.second;
    return std::pair(vendors[gpu->vendor], count);
  };
  return *std::ranges::max_element(kinds, {}, of_vendor)->second.second;
}

std::vector<size_t> groups_of_stage(const Job& job, int64_t stage) {
  if (!is_mixed(job.cluster)) return {0};
  std::vector<size_t> groups;
  for (int64_t i = 0; i < job.stage_ranks(); ++i)
    groups.push_back(group_of_rank(job, stage * job.stage_ranks() + i));
  base::sort_unique(groups);
  return groups;
}

Job on_group(const Job& job, size_t group) {
  Job result = job;
  if (!is_mixed(job.cluster)) return result;
  result.cluster.node = job.cluster.groups[group].node;
  if (auto& batches = result.parallelism.group_micro_batches; !batches.empty())
    batches = {batches[group]};
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
      const double rate = matrix_rate(node_of_group(job.cluster, group).gpu, job.training);
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

std::optional<size_t> group_of_replica(const Job& job, int64_t replica) {
  const int64_t ranks = job.parallelism.tp * job.parallelism.cp;
  std::optional<size_t> only;
  for (int64_t stage = 0; stage < job.parallelism.pp; ++stage)
    for (int64_t i = 0; i < ranks; ++i) {
      const size_t group = group_of_rank(job, stage * job.stage_ranks() + replica * ranks + i);
      if (only && *only != group) return std::nullopt;
      only = group;
    }
  return only;
}

std::vector<int64_t> replicas_on_groups(const Job& job) {
  std::vector<int64_t> replicas(group_count(job.cluster), 0);
  for (int64_t replica = 0; replica < job.parallelism.dp; ++replica)
    if (const auto group = group_of_replica(job, replica)) ++replicas[*group];
  return replicas;
}

std::vector<int64_t> batches_by_speed(int64_t batches, std::span<const int64_t> replicas,
                                      std::span<const double> seconds) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // By group, and by how many are given to the groups up to it: how long the longest of these
  // replicas then is at least, and what the group's own have in that case.
  const auto counts = static_cast<size_t>(batches) + 1;
  std::vector<double> longest(counts, kNone);
  longest[0] = 0;
  std::vector<std::vector<int64_t>> own(replicas.size(), std::vector<int64_t>(counts, 0));
  for (size_t group = 0; group < replicas.size(); ++group) {
    if (replicas[group] == 0) continue;
    std::vector<double> next(counts, kNone);
    for (int64_t all = replicas[group]; all <= batches; ++all)
      for (int64_t each = 1; each * replicas[group] <= all; ++each) {
        const double before = longest[static_cast<size_t>(all - each * replicas[group])];
        const double after = std::max(before, static_cast<double>(each) * seconds[group]);
        if (before == kNone || after > next[static_cast<size_t>(all)]) continue;
        next[static_cast<size_t>(all)] = after;
        own[group][static_cast<size_t>(all)] = each;
      }
    longest = std::move(next);
  }
  if (longest.back() == kNone) return {};
  std::vector<int64_t> division(replicas.size(), 0);
  for (size_t group = replicas.size(), left = counts - 1; group-- > 0;) {
    division[group] = own[group][left];
    left -= static_cast<size_t>(division[group] * replicas[group]);
  }
  return division;
}

std::string divide_batches_by_speed(Job& job) {
  Parallelism& p = job.parallelism;
  p.group_micro_batches.clear();
  if (!is_mixed(job.cluster) || p.dp == 1) return {};  // as many each
  const std::vector<int64_t> replicas = replicas_on_groups(job);
  if (std::accumulate(replicas.begin(), replicas.end(), int64_t{0}) < p.dp)
    return "needs every data-parallel replica on nodes of one kind: place stages of one replica "
           "together with --rank-map, or take fewer --pp";
  if (job.training.global_batch % job.training.micro_batch != 0)
    return fmt::format("divides micro batches: the global batch of {} is no whole number of {}",
                       job.training.global_batch, job.training.micro_batch);
  std::vector<double> seconds;
  for (const NodeGroup& group : job.cluster.groups) {
    const double rate = matrix_rate(group.node.gpu, job.training);
    seconds.push_back(rate > 0 ? 1 / rate : 1.0);
  }
  const int64_t batches = job.training.global_batch / job.training.micro_batch;
  p.group_micro_batches = batches_by_speed(batches, replicas, seconds);
  if (!p.group_micro_batches.empty()) return {};
  return fmt::format(
      "finds no numbers of micro batches, one for every kind of node, that make {} "
      "over {} replicas",
      batches, fmt::join(replicas, " + "));
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
