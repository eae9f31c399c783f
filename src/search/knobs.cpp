// What one knob is worth: everything as in a candidate but for one setting.
#include <fmt/format.h>

#include <functional>
#include <set>
#include <utility>

#include "search/search.h"
#include "search/space/axes.h"
#include "search/space/stage_split.h"

namespace ergometer::search {
namespace {

/// A setting that divides ranks or batch, as a candidate holds it.
using Knob = std::pair<const char*, std::function<std::string(const Candidate&)>>;

std::vector<Knob> knobs(const Space& space) {
  const auto number = [](int64_t Layout::* member) {
    return [member](const Candidate& c) { return std::to_string(c.layout.*member); };
  };
  const auto on_off = [](auto get) {
    return [get](const Candidate& c) { return std::string(get(c) ? "on" : "off"); };
  };
  return {
      {"tp", number(&Layout::tp)},
      {"sp", on_off([](const Candidate& c) { return c.layout.sequence_parallel; })},
      {"cp", number(&Layout::cp)},
      {"pp", number(&Layout::pp)},
      {"vpp", number(&Layout::vpp)},
      {"stages", [](const Candidate& c) { return std::string(to_word(c.layout.split)); }},
      {"ep", number(&Layout::ep)},
      {"etp", number(&Layout::etp)},
      {"mbs", number(&Layout::micro_batch)},
      {"schedule",
       [](const Candidate& c) {
         return std::string(kSchedules[static_cast<size_t>(c.layout.schedule)]);
       }},
      {"zero",
       [](const Candidate& c) {
         constexpr std::array kWords = {"0", "1", "2", "3", "fsdp"};
         return std::string(kWords[static_cast<size_t>(c.data.sharding)]);
       }},
      {"recompute",
       [&space](const Candidate& c) {
         const RecomputeChoice& choice =
             space.recomputations()[static_cast<size_t>(c.recomputation.choice)];
         if (choice.granularity == spec::Recompute::kNone) return std::string("none");
         if (choice.granularity == spec::Recompute::kSelective)
           return fmt::format("{}", fmt::join(choice.modules, "+"));
         return choice.block ? fmt::format("block {}", c.recomputation.depth) : std::string("full");
       }},
      {"overlap_grad_reduce", on_off([](const Candidate& c) { return c.data.overlap_gradients; })},
      {"overlap_param_gather",
       on_off([](const Candidate& c) { return c.data.overlap_parameters; })},
      {"tp_comm_overlap", on_off([](const Candidate& c) { return c.overlap.tensor; })},
      {"overlap_p2p", on_off([](const Candidate& c) { return c.overlap.pipeline; })},
      {"overlap_moe_expert_parallel_comm",
       on_off([](const Candidate& c) { return c.overlap.expert; })},
      {"moe_shared_expert_overlap",
       on_off([](const Candidate& c) { return c.overlap.shared_expert; })}};
}

/// Knobs in which two candidates differ; what must change along counts as one with its cause.
std::vector<size_t> differences(const std::vector<Knob>& all, const Candidate& a,
                                const Candidate& b) {
  std::vector<size_t> found;
  const bool tp = a.layout.tp != b.layout.tp, chunks = a.layout.vpp != b.layout.vpp;
  const bool stages = a.layout.pp != b.layout.pp;
  for (size_t k = 0; k < all.size(); ++k) {
    const std::string_view name = all[k].first;
    if (all[k].second(a) == all[k].second(b)) continue;
    if (tp && (name == "etp" || name == "sp" || name == "tp_comm_overlap")) continue;
    if (chunks && name == "schedule") continue;
    if ((chunks || stages) && name == "stages") continue;
    found.push_back(k);
  }
  return found;
}

/// " under megatron-lm": where software that nobody named follows from the sharding, turning it
/// turns that too.
std::string other_software(const Space& space, const Candidate& winner,
                           const Candidate& candidate) {
  const Space::Base& base = space.base_of(winner.layout);
  const auto recipe = [&](const Candidate& it) -> const spec::RecipeName& {
    return (it.data.sharding == Sharding::kFsdp ? base.fsdp : base.megatron).recipe;
  };
  const spec::RecipeName& other = recipe(candidate);
  return other.name == recipe(winner).name ? "" : " under " + other.name;
}

}  // namespace

Knobs turn_knobs(const Space& space, const Candidate& winner) {
  const std::vector<Knob> all = knobs(space);
  LegalityCheck legal(space);
  Estimator estimator(space);
  Knobs knobs_of_winner;
  if (const auto estimate = estimator.estimate(winner)) knobs_of_winner.winner = *estimate;
  std::set<std::pair<std::string, std::string>> known;
  space.for_each_layout([&](const Layout& layout) {
    Candidate moved = winner;
    moved.layout = layout;
    if (layout.base != winner.layout.base || differences(all, winner, moved).size() > 1)
      return true;
    const Options options = space.options(layout, legal);
    for (const Overlap& overlap : options.overlaps)
      for (const Recomputation& recomputation : options.recomputations)
        for (const DataOption& data : options.data) {
          const Candidate candidate{layout, recomputation, overlap, data};
          const std::vector<size_t> knob = differences(all, winner, candidate);
          if (knob.size() != 1) continue;
          Turned next{all[knob[0]].first,
                      all[knob[0]].second(candidate) + other_software(space, winner, candidate),
                      false,
                      {}};
          if (!known.insert({next.knob, next.value}).second) continue;
          if (!estimator.set_layout(layout)) continue;
          const PassVariant variant{overlap, recomputation};
          estimator.set_passes(std::span(&variant, 1));
          next.fits = estimator.fits(overlap, recomputation, data);
          next.estimate = estimator.estimate(0, data);
          knobs_of_winner.turned.push_back(std::move(next));
        }
    return true;
  });
  return knobs_of_winner;
}

}  // namespace ergometer::search
