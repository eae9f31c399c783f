// What it predicts: the bytes of a collective whose algorithm a file gives (`collectives_from`), of
// the mean rank. S bytes (the whole buffer, as in collective.cpp) are C chunks; of n GPUs
//
//   sends      S / C x chunks of all steps that send / n: inside where both ends lie in one domain,
//              over NICs elsewhere. Where no switch joins rails, a message for another rail also
//              counts inside, where it first goes to the GPU of that rail
//   memory     beside what goes with sends (energy.cpp): 2 bytes for each that a GPU copies from
//              buffer to buffer, 3 for each that it adds to another
//
// Flags that low-latency protocols send beside data are not counted, as of rings.
//
// Worked: all-reduce of 4 GB on 4 GPUs, each of which sends all it has to the 3 others, who add it
// up: C = 1, 12 chunks: 12 GB a rank; of a ring 2 x 3/4 x 4 = 6 GB. On 2 nodes of 2, 1 of 3 goes
// to a GPU inside: 4 GB inside, 8 GB over NICs. One copy and three sums a GPU: (2 + 9) x 4 GB.
//
// Range: groups of one domain, and of whole nodes in order. Exact there, as an algorithm is a list
// of messages.
#include "cost/given_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/collection.h"
#include "spec/collective/given_algorithms.h"
#include "spec/job/node_groups.h"
#include "spec/job/pcie_tree.h"

namespace ergometer::cost {
namespace {

using plan::GroupPlacement;
using spec::Algorithm;
using spec::CollectiveTask;
using workload::CollectiveKind;
using workload::Operator;

CollectiveKind kind_of(CollectiveTask task) {
  switch (task) {
    case CollectiveTask::kAllReduce: return CollectiveKind::kAllReduce;
    case CollectiveTask::kAllGather: return CollectiveKind::kAllGather;
    case CollectiveTask::kReduceScatter: return CollectiveKind::kReduceScatter;
    case CollectiveTask::kAllToAll: break;
  }
  return CollectiveKind::kAllToAll;
}

std::string_view word_of(CollectiveTask task) {
  return spec::kTaskWords[static_cast<size_t>(task)];
}

/// Chunks that a mean GPU sends in a loop, as `Traffic` counts bytes.
Traffic chunks_sent(const Algorithm& algorithm, int64_t per_domain, bool rail_only) {
  Traffic chunks;
  for (const Sending& it : sendings(algorithm)) {
    const double mean = it.chunks / algorithm.size();
    const bool inside = it.from / per_domain == it.to / per_domain;
    const bool changes_rail = rail_only && it.from % per_domain != it.to % per_domain;
    if (!inside) chunks.nic_bytes += mean;
    if (inside || changes_rail) chunks.intra_bytes += mean;
  }
  return chunks;
}

/// Bytes of HBM traffic for each byte of a step that sends and receives nothing.
double local_bytes_per_byte(spec::StepKind kind) {
  if (kind == spec::StepKind::kCopy) return 2;
  return kind == spec::StepKind::kReduce ? 3 : 0;
}

}  // namespace

std::vector<Sending> sendings(const Algorithm& algorithm) {
  std::vector<Sending> all;
  for (int gpu = 0; gpu < algorithm.size(); ++gpu)
    for (const spec::ThreadBlock& block : algorithm.gpus[static_cast<size_t>(gpu)].blocks) {
      const double chunks = base::sum(block.steps, [](const spec::AlgorithmStep& step) {
        return sends(step.kind) ? static_cast<double>(step.count) : 0.0;
      });
      if (chunks > 0) all.push_back({gpu, block.send_to, block.channel, chunks});
    }
  return all;
}

GivenChoice::GivenChoice(const spec::Job& job)
    : algorithms_(spec::given_algorithms(job.cluster.node.parameters)) {
  if (algorithms_.empty()) return;
  node_ = job.cluster.node;
  fabric_kind_ = job.cluster.fabric.kind;
  segment_ = plan::domain_segment(job);
  mapped_ = !job.parallelism.rank_map.empty();
  for (int kind = 0; kind < workload::kGroupKindCount; ++kind)
    groups_.push_back(plan::rank_group(job, static_cast<workload::GroupKind>(kind)));
}

bool GivenChoice::lies_as_written(const Operator& op, const GroupPlacement& where) const {
  const plan::RankGroup& group = groups_[static_cast<size_t>(op.group)];
  if (where.nodes == 1) return !mapped_ || !spec::pcie_tree(node_);
  return !mapped_ && group.stride == 1 && where.ranks_per_node == segment_ &&
         segment_ % node_.gpus == 0 && where.nodes * segment_ == where.size && !node_.nics.empty();
}

GivenChoice::Asked GivenChoice::fits_until(size_t index, const Operator& op,
                                           const GroupPlacement& where) const {
  const Algorithm& algorithm = *algorithms_[index];
  if (op.kind != workload::OperatorKind::kCollective || where.size <= 1 ||
      op.collective != kind_of(algorithm.task))
    return Asked::kTask;
  if (op.routing.choices > 0 || op.leaving != 1) return Asked::kEvenParts;
  if (where.size != algorithm.size()) return Asked::kSize;
  if (!algorithm.holds(op.comm_bytes)) return Asked::kBytes;
  return lies_as_written(op, where) ? Asked::kAll : Asked::kPlace;
}

std::string GivenChoice::why_not(size_t index, Asked until) const {
  const Algorithm& algorithm = *algorithms_[index];
  const std::string_view task = word_of(algorithm.task);
  const int gpus = algorithm.size();
  switch (until) {
    case Asked::kTask: return fmt::format("the step has no {}", task);
    case Asked::kEvenParts: return fmt::format("no {} of the step sends as much to all", task);
    case Asked::kSize: return fmt::format("no {} of the step is of {} GPUs", task, gpus);
    case Asked::kBytes:
      return fmt::format("no {} of {} GPUs has as many bytes as it is for", task, gpus);
    case Asked::kPlace:
      return fmt::format("the {} GPUs lie neither in one node nor in whole nodes in order", gpus);
    case Asked::kAll: break;
  }
  return "another, listed before it, runs all that it could";
}

std::optional<size_t> GivenChoice::index_of(const Operator& op, const GroupPlacement& where) const {
  for (size_t i = 0; i < algorithms_.size(); ++i)
    if (fits_until(i, op, where) == Asked::kAll) return i;
  return std::nullopt;
}

Traffic GivenChoice::traffic(const Operator& op, const GroupPlacement& where) const {
  const std::optional<size_t> index = index_of(op, where);
  if (!index) return cost::traffic(op, where);
  const Algorithm& algorithm = *algorithms_[*index];
  const Traffic chunks = chunks_sent(algorithm, where.nodes > 1 ? where.ranks_per_node : where.size,
                                     fabric_kind_ == spec::FabricKind::kRailOnly);
  const double chunk_bytes = op.comm_bytes / algorithm.chunks;
  return {chunks.intra_bytes * chunk_bytes, chunks.nic_bytes * chunk_bytes};
}

double GivenChoice::local_memory_bytes(const Operator& op, const GroupPlacement& where) const {
  const std::optional<size_t> index = index_of(op, where);
  if (!index) return 0;
  const Algorithm& algorithm = *algorithms_[*index];
  double chunks = 0;
  for (const spec::GpuProgram& gpu : algorithm.gpus)
    for (const spec::ThreadBlock& block : gpu.blocks)
      for (const spec::AlgorithmStep& step : block.steps)
        chunks += step.count * local_bytes_per_byte(step.kind);
  return op.comm_bytes / algorithm.chunks * chunks / algorithm.size();
}

namespace {

GivenChoice choice_of(const spec::Job& job, size_t group) {
  if (spec::given_algorithms(spec::node_of_group(job.cluster, group).parameters).empty()) return {};
  return GivenChoice(spec::on_group(job, group));
}

}  // namespace

PlanTraffic::PlanTraffic(const spec::Job& job, const plan::Plan& plan,
                         std::span<const size_t> slowest_group)
    : plan_(plan), slowest_group_(slowest_group) {
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group)
    choices_.push_back(choice_of(job, group));
}

Traffic PlanTraffic::of(size_t role, size_t op) const {
  const size_t group = slowest_group_.empty() ? 0 : slowest_group_[role];
  return choices_[group].traffic(plan_.operators[op], plan_.placements[role][op]);
}

namespace {

/// Of nodes of one kind.
std::vector<GivenUse> uses_of(const GivenChoice& given, const plan::Plan& plan) {
  std::vector<GivenUse> uses;
  for (size_t i = 0; i < given.algorithms().size(); ++i) {
    GivenUse use{given.algorithms()[i], {}, {}};
    auto furthest = GivenChoice::Asked::kTask;
    for (const auto& placements : plan.placements)
      for (size_t op = 0; op < plan.operators.size(); ++op) {
        const Operator& it = plan.operators[op];
        furthest = std::max(furthest, given.fits_until(i, it, placements[op]));
        if (given.index_of(it, placements[op]) == i && !base::contains(use.operators, it.name))
          use.operators.push_back(it.name);
      }
    if (use.operators.empty()) use.why_none = given.why_not(i, furthest);
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace

std::vector<GivenUse> given_uses(const spec::Job& job, const plan::Plan& plan) {
  std::vector<GivenUse> all;
  for (size_t group = 0; group < spec::group_count(job.cluster); ++group)
    for (GivenUse& use : uses_of(choice_of(job, group), plan)) {
      const auto known = std::ranges::find(all, use.algorithm, &GivenUse::algorithm);
      if (known == all.end())
        all.push_back(std::move(use));
      else if (known->operators.empty())
        *known = std::move(use);
    }
  return all;
}

}  // namespace ergometer::cost
