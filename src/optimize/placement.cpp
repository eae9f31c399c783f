#include "optimize/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "spec/settings/rank_map.h"

namespace ergometer::optimize {
namespace {

constexpr size_t kMostSwaps = 8;

std::vector<int64_t> map_of(const spec::Job& job) {
  if (!job.parallelism.rank_map.empty()) return job.parallelism.rank_map;
  std::vector<int64_t> map(static_cast<size_t>(job.gpus));
  std::iota(map.begin(), map.end(), int64_t{0});
  return map;
}

/// The same map as none at all is written as none.
Candidate with_map(const spec::Job& job, std::vector<int64_t> map) {
  Candidate candidate{fmt::format("placement {}", spec::rank_map_text(map)), job};
  const bool identity =
      std::ranges::is_sorted(map) && map.front() == 0 && map.back() + 1 == std::ssize(map);
  candidate.job.parallelism.rank_map = identity ? std::vector<int64_t>{} : std::move(map);
  return candidate;
}

/// Ranks that change places together, and how hot they are and how hard they work.
struct Block {
  int64_t first_rank = 0, node = 0, stage = 0;
  double load_w = 0, hottest_c = 0, work_s = 0;
};

std::vector<Block> blocks_of(const spec::Job& job, const std::vector<run::Rank>& ranks,
                             int64_t size) {
  std::vector<Block> blocks;
  for (int64_t first = 0; first + size <= job.gpus; first += size) {
    Block block{.first_rank = first,
                .node = ranks[static_cast<size_t>(first)].node,
                .stage = ranks[static_cast<size_t>(first)].stage};
    for (int64_t rank = first; rank < first + size; ++rank) {
      const run::Rank& it = ranks[static_cast<size_t>(rank)];
      block.load_w += it.mean_power_w / static_cast<double>(size);
      block.work_s += work_s(it) / static_cast<double>(size);
      block.hottest_c = std::max(block.hottest_c, it.max_gpu_c);
    }
    blocks.push_back(block);
  }
  return blocks;
}

void swap_blocks(std::vector<int64_t>& map, int64_t a, int64_t b, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    std::swap(map[static_cast<size_t>(a + i)], map[static_cast<size_t>(b + i)]);
}

/// What a swap promises: the harder work on the hotter GPUs, times how much.
struct Swap {
  double score = 0;
  size_t a = 0, b = 0;
};

std::vector<Swap> best_swaps(const std::vector<Block>& blocks) {
  std::vector<Swap> swaps;
  for (size_t a = 0; a < blocks.size(); ++a)
    for (size_t b = 0; b < blocks.size(); ++b) {
      const Block &hard = blocks[a], &light = blocks[b];
      if (a == b || hard.stage == light.stage) continue;
      const double hotter = hard.hottest_c - light.hottest_c;
      const double harder = hard.load_w * hard.work_s - light.load_w * light.work_s;
      if (hotter <= 0 || harder <= 0) continue;
      const double near = hard.node == light.node ? 1 : 0.25;  // other nodes cost traffic
      swaps.push_back({near * hotter * harder, a, b});
    }
  std::ranges::stable_sort(swaps, std::ranges::greater{}, &Swap::score);
  if (swaps.size() > kMostSwaps) swaps.resize(kMostSwaps);
  return swaps;
}

bool nodes_differ(const spec::Job& job) {
  const auto& overrides = job.conditions.overrides;
  return std::ranges::any_of(overrides, [](const spec::Override& o) { return o.node >= 0; });
}

/// Swaps of whole nodes that run different stages, one of them named by an override.
void add_node_swaps(const spec::Job& job, const std::vector<int64_t>& map,
                    const std::vector<run::Rank>& ranks, std::vector<Candidate>& out) {
  const int64_t per_node = job.cluster.node.gpus;
  if (!nodes_differ(job) || job.gpus % per_node != 0) return;
  std::vector<char> special(static_cast<size_t>(job.nodes()), 0);
  for (const spec::Override& o : job.conditions.overrides)
    if (o.node >= 0) special[static_cast<size_t>(o.node)] = 1;
  std::vector<int64_t> stage_on(static_cast<size_t>(job.nodes()), -1);
  for (const run::Rank& rank : ranks)
    stage_on[static_cast<size_t>(rank.node)] =
        std::max(stage_on[static_cast<size_t>(rank.node)], rank.stage);
  size_t added = 0;
  for (int64_t a = 0; a < job.nodes(); ++a)
    for (int64_t b = 0; b < job.nodes() && added < kMostSwaps; ++b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      if (special[i] == 0 || a == b || (special[j] != 0 && b < a) || stage_on[i] == stage_on[j])
        continue;
      std::vector<int64_t> swapped = map;
      for (int64_t& gpu : swapped) {
        if (gpu / per_node == a)
          gpu += (b - a) * per_node;
        else if (gpu / per_node == b)
          gpu += (a - b) * per_node;
      }
      out.push_back(with_map(job, std::move(swapped)));
      ++added;
    }
}

/// Two nodes that run two stages in halves of `per_node / 2` GPUs each: the first stage takes the
/// cooler row of both, the second the other.
void add_stages_in_rows(const spec::Job& job, const std::vector<int64_t>& map,
                        std::vector<Candidate>& out) {
  const std::vector<spec::Slot>& slots = job.cluster.node.slots;
  const int64_t per_node = job.cluster.node.gpus, tp = job.parallelism.tp;
  if (job.parallelism.pp < 2 || job.stage_ranks() != per_node || job.nodes() % 2 != 0 ||
      std::ssize(slots) != per_node || per_node % 2 != 0 || (per_node / 2) % tp != 0)
    return;
  std::vector<int64_t> cool_first(static_cast<size_t>(per_node));
  std::iota(cool_first.begin(), cool_first.end(), int64_t{0});
  std::ranges::stable_sort(cool_first, [&](int64_t a, int64_t b) {
    return slots[static_cast<size_t>(a)].row < slots[static_cast<size_t>(b)].row;
  });
  std::vector<int64_t> rows = map;
  const int64_t half = per_node / 2;
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const int64_t pair = rank / (2 * per_node), place = rank % (2 * per_node);
    const int64_t stage = place / per_node, index = place % per_node;
    const int64_t node = 2 * pair + index / half;
    rows[static_cast<size_t>(rank)] =
        node * per_node + cool_first[static_cast<size_t>(stage * half + index % half)];
  }
  Candidate candidate = with_map(job, std::move(rows));
  candidate.name = "placement stages in rows of two nodes: " + candidate.name.substr(10);
  out.push_back(std::move(candidate));
}

}  // namespace

std::vector<Candidate> propose_placement(const Played& played, bool first) {
  const spec::Job& job = played.candidate.job;
  std::vector<Candidate> candidates;
  if (job.parallelism.pp < 2) return candidates;  // all ranks do the same
  const std::vector<run::Rank> ranks = mean_ranks(played.outcomes);
  const std::vector<int64_t> map = map_of(job);
  const std::vector<Block> blocks = blocks_of(job, ranks, job.parallelism.tp);
  for (const Swap& swap : best_swaps(blocks)) {
    std::vector<int64_t> swapped = map;
    swap_blocks(swapped, blocks[swap.a].first_rank, blocks[swap.b].first_rank, job.parallelism.tp);
    candidates.push_back(with_map(job, std::move(swapped)));
  }
  if (!first) return candidates;
  add_node_swaps(job, map, ranks, candidates);
  add_stages_in_rows(job, map, candidates);
  return candidates;
}

}  // namespace ergometer::optimize
