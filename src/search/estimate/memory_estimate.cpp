#include "search/estimate/memory_estimate.h"

#include <algorithm>

#include "plan/schedule.h"

namespace ergometer::search {
namespace {

bool covers(const Holding& a, const Holding& b) {
  if (b.backward_of >= 0 && a.backward_of != b.backward_of) return false;
  for (size_t i = 0; i < a.alive.size(); ++i)
    if (a.alive[i] < b.alive[i]) return false;
  return true;
}

void keep(std::vector<Holding>& kept, const Holding& found) {
  for (const Holding& other : kept)
    if (covers(other, found)) return;
  std::erase_if(kept, [&](const Holding& other) { return covers(found, other); });
  kept.push_back(found);
}

/// Steps of more micro batches hold no more: warm-up is over and the pattern repeats.
int64_t decisive_micro_batches(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (p.schedule == spec::Schedule::kGpipe) return job.micro_batches();
  const int64_t group = std::max(p.pp, p.microbatch_group);
  return std::min(job.micro_batches(), 4 * group + job.micro_batches() % group);
}

std::vector<Holding> find(spec::Job job, int64_t stage, const std::vector<int>& chunk_kinds) {
  const spec::Parallelism& p = job.parallelism;
  const auto kinds = static_cast<size_t>(*std::ranges::max_element(chunk_kinds)) + 1;
  Holding now{std::vector<int32_t>(kinds), -1};
  // All of GPipe's forwards come before its first backward.
  if (p.schedule == spec::Schedule::kGpipe) {
    now.backward_of = chunk_kinds.front();
    now.alive[static_cast<size_t>(now.backward_of)] = static_cast<int32_t>(job.micro_batches());
    return {now};
  }
  job.training.global_batch = decisive_micro_batches(job) * job.training.micro_batch * p.dp;
  std::vector<Holding> kept;
  for (const plan::ScheduleSlot& slot : plan::schedule(job, stage)) {
    const int kind = chunk_kinds[static_cast<size_t>(slot.chunk)];
    int32_t& alive = now.alive[static_cast<size_t>(kind)];
    const bool forward = slot.kind == plan::SlotKind::kForward;
    if (forward) ++alive;
    now.backward_of = forward ? -1 : kind;
    keep(kept, now);
    const bool frees =
        slot.kind == plan::SlotKind::kBackward || slot.kind == plan::SlotKind::kBackwardWeight;
    if (frees) --alive;
  }
  return kept;
}

}  // namespace

const std::vector<Holding>& Holdings::of(const spec::Job& job, int64_t stage,
                                         const std::vector<int>& chunk_kinds) {
  const spec::Parallelism& p = job.parallelism;
  const auto [found, is_new] =
      known_.try_emplace(Key{p.schedule, p.pp, p.vpp, p.microbatch_group,
                             decisive_micro_batches(job), stage, chunk_kinds});
  if (is_new) found->second = find(job, stage, chunk_kinds);
  return found->second;
}

double activation_peak(const std::vector<Holding>& holdings,
                       const std::vector<plan::ChunkMemory>& chunks) {
  double peak = 0;
  for (const Holding& holding : holdings) {
    double held = 0;
    for (size_t kind = 0; kind < holding.alive.size(); ++kind)
      held += holding.alive[kind] * chunks[kind].kept;
    if (holding.backward_of >= 0) held += chunks[static_cast<size_t>(holding.backward_of)].backward;
    peak = std::max(peak, held);
  }
  return peak;
}

}  // namespace ergometer::search
