#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/job/job.h"

namespace ergometer::spec {

/// Clusters of unlike nodes (`Cluster::groups`). A group is named by its number; a cluster whose
/// nodes are alike is one group, number 0.

inline bool is_mixed(const Cluster& cluster) { return !cluster.groups.empty(); }
size_t group_count(const Cluster& cluster);
const Node& node_of_group(const Cluster& cluster, size_t group);
/// The group of node `node`, counted from 0 over the cluster; beyond the last node the last group.
size_t group_of_node(const Cluster& cluster, int64_t node);
const Node& node_at(const Cluster& cluster, int64_t node);
size_t group_of_rank(const Job& job, int64_t rank);
/// The names of its GPUs, each kind once: "A100-SXM4-80GB and H100-SXM5-80GB".
std::string gpus_text(const Cluster& cluster);
/// Of the first `gpus` GPUs the kind that most are of, whatever the order of the groups; of kinds
/// that as many are of the first by name.
const Gpu& most_common_gpu(const Cluster& cluster, int64_t gpus);
/// Those on which the ranks of a pipeline stage run, in order, each once.
std::vector<size_t> groups_of_stage(const Job& job, int64_t stage);

/// The job as if all of its nodes were those of `group`, cooled as those are built: what prices one
/// of its ranks there.
Job on_group(const Job& job, size_t group);

/// Leaves only groups that the job's GPUs reach; one that is left alone is a plain cluster.
void keep_reached_groups(Job& job);

/// How long a rank of each stage takes for a layer, relative to the quickest GPU: by the matrix
/// rate of its slowest GPU, `peak x sustained clock / boost clock x gemm.efficiency` in the job's
/// precision.
std::vector<double> stage_seconds_per_layer(const Job& job);
/// `layers` divided over stages so that the longest stage is as short as can be, at least one each;
/// of equal divisions the one that gives more to the quicker, then to earlier stages.
std::vector<int64_t> layers_by_speed(int64_t layers, std::span<const double> seconds_per_layer);

/// The group on which all ranks of a data-parallel replica run; nothing: it runs on several.
std::optional<size_t> group_of_replica(const Job& job, int64_t replica);
/// How many data-parallel replicas run on each group, whole.
std::vector<int64_t> replicas_on_groups(const Job& job);
/// Micro batches of a replica on each group, so that all together are `batches` and the longest
/// replica is as short as can be, by `seconds` for one; at least one where there are replicas. Of
/// equal divisions the one that gives more to later groups. Empty: nothing adds up to `batches`.
std::vector<int64_t> batches_by_speed(int64_t batches, std::span<const int64_t> replicas,
                                      std::span<const double> seconds);
/// Divides the job's micro batches so, into `Parallelism::group_micro_batches`. What is in the way,
/// where something is.
std::string divide_batches_by_speed(Job& job);

/// An input error where the cluster is mixed: for what knows one kind of node alone. `who`:
/// "search".
Result<void> refuse_groups(const Cluster& cluster, std::string_view who);

}  // namespace ergometer::spec
