#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/power/other_work.h"
#include "run/run.h"
#include "spec/job/job.h"
#include "together/nodes.h"

namespace ergometer::together {

/// A job that may share a node, and what was predicted of it last; `run` with its table of ranks.
struct Tenant {
  const spec::Job* job = nullptr;
  const Place* place = nullptr;
  const run::Run* run = nullptr;
};

/// The job with its ranks on its GPUs of the node, in their order.
spec::Job on_own_gpus(const spec::Job& job, const Place& place);

/// Those that have GPUs of the node of `which`, without it; none where it has nodes of its own.
std::vector<size_t> sharing_node(const std::vector<Place>& places, size_t which);

/// What `others` draw on their GPUs of a node: each its mean power.
std::vector<engine::OtherWork> others_work(std::span<const Tenant> tenants,
                                           const std::vector<size_t>& others);

/// Of what the whole node draws at its plug as its run has it, a job's own part: what its
/// GPUs draw and, of all that no job's GPUs draw (host, fans, idle GPUs, losses), the share of its
/// GPUs among all jobs'. Parts of a node's jobs add up to the node, whose host and idle GPUs count
/// once. Where it has nodes of its own they are all its.
double own_mean_w(const Tenant& own, std::span<const engine::OtherWork> others);

/// Jobs that share a node are in one room: cooling, inlet, fans and what is said of single nodes
/// have to be the same, and no cap holds for the whole cluster of one of them. What a job says of
/// single GPUs it says of its own.
Result<void> check_rooms(std::span<const Tenant> tenants, const std::vector<std::string>& names,
                         const std::vector<Place>& places);

}  // namespace ergometer::together
