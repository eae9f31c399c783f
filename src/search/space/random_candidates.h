#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "search/space/space.h"

// Random jobs of the catalog, for tests and for measuring how far estimates are off.
namespace ergometer::search {

/// Draws one after the other.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed, 0, "search candidates") {}
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(random_.below(next_++, static_cast<int64_t>(list.size())))];
  }

 private:
  base::Random random_;
  uint64_t next_ = 0;
};

/// A model on a cluster with a batch, everything else open.
inline spec::Settings random_settings(Draws& draws) {
  constexpr std::array kModels = {"gpt3-13b",      "gpt3-175b",      "llama3.1-8b",   "llama3-70b",
                                  "llama3.1-405b", "mixtral-8x7b",   "mixtral-8x22b", "deepseek-v2",
                                  "deepseek-v3",   "nemotron-4-15b", "gemma2-27b",    "falcon-40b",
                                  "gpt-oss-120b",  "nemotron-h-8b",  "llama2-70b"};
  constexpr std::array kClusters = {"selene",   "h100-superpod", "charllm-h200", "gb200-nvl72",
                                    "hgx-b200", "mi300x",        "hgx-h100"};
  constexpr std::array kGpus = {"8", "16", "32", "64", "128", "256"};
  constexpr std::array kBatches = {"64", "128", "256", "512"};
  constexpr std::array kLengths = {"2048", "4096", "8192"};
  spec::Settings settings;
  const auto set = [&](const char* name, const char* value) {
    settings.set(name, value, {"random", ""});
  };
  set("model", draws.pick(kModels));
  const std::string cluster = draws.pick(kClusters);
  set("cluster", cluster.c_str());
  const char* gpus = draws.pick(kGpus);
  const bool small = cluster == "charllm-h200" && std::atoi(gpus) > 32;
  set("gpus", small ? "32" : gpus);
  set("global_batch_size", draws.pick(kBatches));
  set("seq_length", draws.pick(kLengths));
  return settings;
}

/// A model on 16 nodes of a network that pipelines and gradients fill, everything else open.
inline spec::Settings narrow_settings(Draws& draws) {
  constexpr std::array kModels = {"gpt3-13b", "llama3.1-8b", "llama3-70b", "mixtral-8x7b",
                                  "gpt-oss-120b"};
  constexpr std::array kFabrics = {
      "kind: torus, dims: [4, 4], link_bandwidth: 100 Gb/s",
      "kind: torus, dims: [4, 4], link_bandwidth: 400 Gb/s",
      "kind: torus, dims: [4, 4], link_bandwidth: 100 Gb/s, wraparound: false",
      "kind: dragonfly, nodes_per_switch: 2, switches_per_group: 2, groups: 4, global_links: 1, "
      "link_bandwidth: 200 Gb/s, routing: minimal",
      "kind: hyperx, dims: [2, 4], nodes_per_switch: 2, links: 1, link_bandwidth: 200 Gb/s, "
      "routing: minimal",
      "kind: optical, degree: 2, link_bandwidth: 400 Gb/s",
      "kind: optical, degree: 3, link_bandwidth: 100 Gb/s",
      "kind: optical, degree: 4, link_bandwidth: 200 Gb/s",
      "kind: rail-only, tiers: [{name: rail, nodes_below: 0, oversubscription: 1}]",
      "kind: rail-optimized, tiers: [{name: leaf, nodes_below: 2, oversubscription: 4}, "
      "{name: spine, nodes_below: 0, oversubscription: 1}]",
      "kind: fat-tree, tiers: [{name: leaf, nodes_below: 4, oversubscription: 8}, "
      "{name: spine, nodes_below: 0, oversubscription: 1}]"};
  constexpr std::array kBatches = {"64", "128", "256", "512"};
  spec::Settings settings;
  const auto set = [&](const char* name, const std::string& value) {
    settings.set(name, value, {"random", ""});
  };
  set("model", draws.pick(kModels));
  set("cluster", std::string("{extends: hgx-h100, name: narrow, nodes: 16, fabric: "
                             "{collectives: ib-400g, ") +
                     draws.pick(kFabrics) + "}}");
  set("gpus", "128");
  set("global_batch_size", draws.pick(kBatches));
  return settings;
}

/// Every layout equally likely, then every option of it. Nothing: the layout has none.
inline std::optional<Candidate> random_candidate(const Space& space,
                                                 const std::vector<Layout>& layouts,
                                                 LegalityCheck& legal, Draws& draws) {
  if (layouts.empty()) return {};
  Candidate candidate;
  candidate.layout = draws.pick(layouts);
  const Options options = space.options(candidate.layout, legal);
  if (options.candidates() == 0) return {};
  candidate.recomputation = draws.pick(options.recomputations);
  candidate.overlap = draws.pick(options.overlaps);
  candidate.data = draws.pick(options.data);
  return candidate;
}

}  // namespace ergometer::search
