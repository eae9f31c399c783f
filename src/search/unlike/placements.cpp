#include "search/unlike/placements.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "spec/job/node_groups.h"

namespace ergometer::search {
namespace {

constexpr size_t kMostOrdered = 4;

/// The job's GPUs in the order in which its groups of nodes are named.
std::vector<int64_t> gpus_in(const spec::Job& job, const std::vector<size_t>& order) {
  std::vector<int64_t> gpus;
  for (const size_t group : order)
    for (int64_t gpu = 0; gpu < job.gpus; ++gpu)
      if (spec::group_of_node(job.cluster, gpu / job.cluster.node.gpus) == group)
        gpus.push_back(gpu);
  return gpus;
}

/// Replicas one after the other on GPUs, each with all of its stages.
std::vector<int64_t> replica_by_replica(const spec::Job& job, const std::vector<int64_t>& gpus) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t ranks = p.tp * p.cp;
  std::vector<int64_t> map;
  for (int64_t stage = 0; stage < p.pp; ++stage)
    for (int64_t replica = 0; replica < p.dp; ++replica)
      for (int64_t i = 0; i < ranks; ++i)
        map.push_back(gpus[static_cast<size_t>((replica * p.pp + stage) * ranks + i)]);
  return map;
}

/// On which kinds the stages of every replica lie; replicas in no order.
std::vector<std::vector<size_t>> kinds_of(const spec::Job& job, const std::vector<int64_t>& map) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t ranks = p.tp * p.cp;
  std::vector<std::vector<size_t>> kinds(static_cast<size_t>(p.dp));
  for (size_t rank = 0; rank < map.size(); ++rank) {
    const int64_t replica = static_cast<int64_t>(rank) % job.stage_ranks() / ranks;
    kinds[static_cast<size_t>(replica)].push_back(
        spec::group_of_node(job.cluster, map[rank] / job.cluster.node.gpus));
  }
  std::ranges::sort(kinds);
  return kinds;
}

}  // namespace

std::vector<std::vector<int64_t>> placements_of(const spec::Job& job) {
  std::vector<std::vector<int64_t>> placements = {{}};
  if (!spec::is_mixed(job.cluster)) return placements;
  std::vector<size_t> order(spec::group_count(job.cluster));
  std::iota(order.begin(), order.end(), size_t{0});
  std::set<std::vector<std::vector<size_t>>> seen = {kinds_of(job, gpus_in(job, order))};
  do {
    const std::vector<int64_t> gpus = gpus_in(job, order);
    for (const std::vector<int64_t>& map : {gpus, replica_by_replica(job, gpus)})
      if (seen.insert(kinds_of(job, map)).second) placements.push_back(map);
  } while (order.size() <= kMostOrdered && std::ranges::next_permutation(order).found);
  return placements;
}

}  // namespace ergometer::search
