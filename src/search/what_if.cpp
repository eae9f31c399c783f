#include "search/what_if.h"

#include <fmt/format.h>

#include "search/kept.h"

namespace ergometer::search {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
constexpr double k100Gbps = 100e9 / 8;
constexpr double kWorthSaying = 5e-4;  // less is shown as 0.0 %

class Asked {
 public:
  Asked(const Space& space, const SearchOptions& options, const SearchResult& result)
      : space_(space), options_(options), winner_(result.best.front()), known_(result.known) {
    options_.top = 1;
    options_.pareto.clear();
    // What is estimated worse than the winner is of no interest, with some room for the error.
    options_.worst = value_of(options.objective, winner_.found) * (1 + kMargin);
  }

  WhatIf with_memory(double bytes) const;
  WhatIf with_network(std::string more, double bytes_per_s) const;
  WhatIf with_gpus(int64_t gpus) const;

 private:
  WhatIf best_of(const Space& space, const SearchOptions& options, std::string more) const;

  const Space& space_;
  SearchOptions options_;
  const Played& winner_;
  const Known& known_;
};

WhatIf Asked::best_of(const Space& space, const SearchOptions& options, std::string more) const {
  WhatIf answer{std::move(more), {}, {}};
  auto found = search(space, options);
  if (options.stop != nullptr && *options.stop) answer.impossible = "interrupted";
  if (!answer.impossible.empty() || !found || found->best.empty()) return answer;
  Played& best = found->best.front();
  if (played_value(options.objective, best) <
      (1 - kWorthSaying) * played_value(options.objective, winner_))
    answer.better = std::move(best);
  return answer;
}

/// Only layouts of which more fits are priced. Estimates of the others stand.
WhatIf Asked::with_memory(double bytes) const {
  SearchOptions options = options_;
  options.known = &known_;
  options.differs = Differs::kMemory;
  options.more_bytes = bytes;
  return best_of(space_.on([&](spec::Cluster& cluster) { cluster.node.gpu.memory_bytes += bytes; }),
                 options, "1 GiB more memory a GPU");
}

/// What is too slow without the network is not priced.
WhatIf Asked::with_network(std::string more, double bytes_per_s) const {
  SearchOptions options = options_;
  options.known = &known_;
  options.differs = Differs::kNetwork;
  const Space space = space_.on([&](spec::Cluster& cluster) {
    for (spec::Nic& nic : cluster.node.nics) nic.bytes_per_s += bytes_per_s;
  });
  return best_of(space, options, std::move(more));
}

WhatIf Asked::with_gpus(int64_t gpus) const {
  const std::string more = fmt::format("{} more GPU{}, {}", gpus - winner_.job.gpus,
                                       gpus - winner_.job.gpus == 1 ? "" : "s", gpus);
  const spec::Cluster& cluster = winner_.job.cluster;
  if (cluster.nodes > 0 && gpus > cluster.nodes * cluster.node.gpus)
    return {more, fmt::format("{} has {}", cluster.name, cluster.nodes * cluster.node.gpus), {}};
  const auto space = space_.with_gpus(gpus);
  if (!space) return {more, space.error().message, {}};
  return best_of(*space, options_, more);
}

}  // namespace

std::vector<WhatIf> what_if(const Space& space, const SearchOptions& options,
                            const SearchResult& result) {
  if (result.best.empty() || result.candidates > kMostForWhatIf) return {};
  const Played& winner = result.best.front();
  const Asked asked(space, options, result);
  const spec::Node& node = winner.job.cluster.node;
  std::vector<WhatIf> answers;
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  if (stopped()) return answers;
  answers.push_back(asked.with_memory(kGibibyte));
  constexpr const char* kNetwork = "100 Gb/s more a network card";
  if (winner.job.gpus <= node.gpus) {
    answers.push_back({kNetwork, "one node sends nothing over the network", {}});
  } else if (!stopped()) {
    answers.push_back(asked.with_network(kNetwork, k100Gbps));
  }
  // Several numbers of GPUs are part of the search; of several precisions or clocks there is no
  // one.
  if (space.bases().size() > 1) return answers;
  const int64_t step = winner.job.gpus < node.gpus ? 1 : node.gpus;
  std::vector<int64_t> counts;
  for (int64_t gpus = winner.job.gpus + step; gpus < 2 * winner.job.gpus; gpus += step) {
    const auto more = space.with_gpus(gpus);
    if (!more || !more->has_layouts()) continue;
    counts.push_back(gpus);
    break;
  }
  counts.push_back(2 * winner.job.gpus);
  for (const int64_t gpus : counts)
    if (!stopped()) answers.push_back(asked.with_gpus(gpus));
  return answers;
}

}  // namespace ergometer::search
