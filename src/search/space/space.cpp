#include "search/space/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/collection.h"
#include "base/text.h"
#include "search/space/axes.h"
#include "spec/job/node_groups.h"

namespace ergometer::search {
namespace {

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t i = 1; i <= number / i; ++i) {
    if (number % i != 0) continue;
    small.push_back(i);
    if (i != number / i) large.push_back(number / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

/// The settings without the axes: what all candidates share.
spec::Settings without_axes(const spec::Settings& settings) {
  spec::Settings shared = settings;
  for (const std::string_view axis : kAxes) shared.erase(axis);
  return shared;
}

/// Replicas of dense or expert weights, whichever are more.
int64_t replicas(const Layout& layout) {
  const int64_t stage = layout.tp * layout.cp * layout.dp;
  return std::max(layout.cp * layout.dp, stage / (layout.ep * layout.etp));
}

/// Of the other schedules nothing is estimated.
Result<void> check_schedule_word(const spec::Settings& settings) {
  const auto* value = settings.find(kSchedule);
  if (value == nullptr || base::contains(kSchedules, value->text)) return {};
  return input_error("search: {}: found \"{}\"; allowed: {}; simulate such a job by itself",
                     kSchedule, value->text, fmt::join(kSchedules, ", "));
}

/// Nor of a vocabulary divided over the stages, of stages that train apart or of documents of
/// unlike length.
Result<void> check_estimated(const spec::Settings& settings) {
  constexpr std::pair<std::string_view, std::string_view> kAllowed[] = {
      {"vocabulary_parallel", "none"},
      {"stage_training", "together"},
      {"sequence_lengths", "even"}};
  for (const auto& [name, allowed] : kAllowed) {
    const auto* value = settings.find(name);
    if (value != nullptr && value->text != allowed)
      return input_error(
          "search: {}: found \"{}\"; allowed: {}; simulate what a search finds with it", name,
          value->text, allowed);
  }
  return {};
}

/// Of layers of two kinds with their own tokens nothing is estimated.
Result<void> check_vision(const spec::Job& job) {
  if (job.model.vision == nullptr) return {};
  return input_error(
      "search: model: found {}, which has a vision tower; allowed: models of text alone; simulate "
      "its layouts, or sweep over them",
      job.model.name);
}

}  // namespace

void limit_memory(spec::Cluster& cluster, double most_bytes) {
  if (most_bytes <= 0) return;
  const auto limit = [&](spec::Node& node) {
    const double reserve = node.parameters.value_or("memory_reserve", 0);
    node.gpu.memory_bytes = std::min(node.gpu.memory_bytes, most_bytes + reserve);
  };
  limit(cluster.node);
  for (spec::NodeGroup& group : cluster.groups) limit(group.node);
}

bool is_of_layout(std::string_view setting) {
  return base::contains(kAxes, setting) || base::contains(kOfOneLayout, setting);
}

Result<Space> Space::make(const spec::Settings& settings, const SpaceOptions& options) {
  ERGOMETER_ASSIGN(const spec::Job fixed,
                   spec::read_job(settings));  // says what is wrong with what is fixed
  ERGOMETER_TRY(check_vision(fixed));
  for (const std::string_view name : kSetByLayout)
    if (const auto* value = settings.find(name))
      return input_error(
          "search: {}: found \"{}\"; a search sets it by the layout, so it cannot be "
          "fixed: simulate such a job by itself",
          name, value->text);
  ERGOMETER_TRY(check_schedule_word(settings));
  ERGOMETER_TRY(check_estimated(settings));
  Space space;
  space.asked_ = settings;
  space.choice_ = options;
  for (const std::string_view axis : kAxes)
    if (const auto* value = settings.find(axis)) space.fixed_[std::string(axis)] = value->text;
  const auto list = [](const auto& asked, const auto& none) {
    return asked.empty() ? std::vector{none} : asked;
  };
  for (const int64_t gpus : list(options.gpus, int64_t{0}))
    for (const std::string& precision : list(options.precisions, std::string()))
      for (const double clock : list(options.lock_clocks_mhz, 0.0)) {
        Base base;
        base.settings = without_axes(settings);
        const spec::Origin asked{"the search", ""};
        if (gpus > 0) base.settings.set("gpus", std::to_string(gpus), asked);
        if (!precision.empty()) base.settings.set("precision", precision, asked);
        if (clock > 0) base.settings.set("lock_clock", fmt::format("{}", clock), asked);
        ERGOMETER_ASSIGN(base.megatron, spec::read_job(base.settings));
        if (!base.megatron.training.fuse.empty())
          return input_error(
              "fuse: a search is over what frameworks run, and none has these kernels; search "
              "without it and compare the layout found with it");
        spec::Settings sharded = base.settings;
        sharded.set(kFullySharded, "true", asked);
        ERGOMETER_ASSIGN(base.fsdp, spec::read_job(sharded));
        const spec::Mode mode = base.megatron.training.mode;
        if (mode != spec::Mode::kPretrain && mode != spec::Mode::kLora)
          return input_error(
              "mode: a search is over training layouts; simulate one at a "
              "time for prefill and decode");
        for (spec::Job* job : {&base.megatron, &base.fsdp})
          limit_memory(job->cluster, options.max_memory_bytes);
        space.bases_.push_back(std::move(base));
      }
  const auto* scatters = settings.find("scatter_gather_tensors_in_pipeline");
  space.scatters_ = scatters != nullptr && spec::says_yes(scatters->text);
  for (const std::string_view name : kSaysSplit)
    space.splits_given_ |= settings.find(name) != nullptr;
  space.find_recomputations();
  return space;
}

Space Space::on(const std::function<void(spec::Cluster&)>& change) const {
  Space other = *this;
  for (Base& base : other.bases_) {
    change(base.megatron.cluster);
    change(base.fsdp.cluster);
  }
  return other;
}

Result<Space> Space::with_gpus(int64_t gpus) const {
  spec::Settings settings = asked_;
  settings.set("gpus", std::to_string(gpus), {"the search", ""});
  SpaceOptions choice = choice_;
  choice.gpus.clear();
  return make(settings, choice);
}

bool Space::has_unlike_nodes() const {
  return std::ranges::any_of(
      bases_, [](const Base& base) { return spec::is_mixed(base.megatron.cluster); });
}

bool Space::has_layouts() const {
  return !for_each_layout([](const Layout&) { return false; });
}

std::optional<int64_t> Space::fixed_number(std::string_view name) const {
  const auto found = fixed_.find(name);
  if (found == fixed_.end()) return {};
  return std::atoll(found->second.c_str());
}

std::optional<bool> Space::fixed_switch(std::string_view name) const {
  const auto found = fixed_.find(name);
  if (found == fixed_.end()) return {};
  return spec::says_yes(found->second);
}

bool Space::allows(std::string_view name, int64_t value) const {
  const auto fixed = fixed_number(name);
  return !fixed || *fixed == value;
}

bool Space::allows_switch(std::string_view name, bool value) const {
  const auto fixed = fixed_switch(name);
  return !fixed || *fixed == value;
}

/// Nothing; sets of modules that the model has; everything; the first layers of every chunk.
void Space::find_recomputations() {
  using Modules = std::vector<std::string>;
  const spec::Model& model = bases_.front().megatron.model;
  std::vector<Modules> sets = {
      {"core_attn"}, {"layernorm"}, {"mlp"}, {"core_attn", "layernorm"}, {"layernorm", "mlp"}};
  const auto is_dense = [](const spec::Layer& layer) { return layer.feed_forward && !layer.moe; };
  if (std::ranges::none_of(model.layers, is_dense))
    std::erase_if(sets, [](const Modules& set) { return set.back() == "mlp"; });
  if (model.experts.count > 0) {
    sets.push_back({"moe_act"});
    sets.push_back({"layernorm", "moe_act"});
    sets.push_back({"moe"});
  }
  if (model.attention == spec::AttentionKind::kLatent) {
    sets.push_back({"mla_up_proj"});
    if (model.experts.count > 0) sets.push_back({"layernorm", "mla_up_proj", "moe_act"});
  }
  if (const auto fixed = fixed_.find(kModules); fixed != fixed_.end()) {
    Modules modules;
    for (std::string word : base::split(fixed->second, ',')) {
      std::erase(word, ' ');
      if (!word.empty()) modules.push_back(std::move(word));
    }
    sets = {modules};
  }
  const auto fixed = fixed_.find(kRecompute);
  const auto wants = [&](std::string_view word) {
    return fixed == fixed_.end() || fixed->second == word;
  };
  const auto method = fixed_.find(kMethod);
  const bool counted = fixed_.contains(kDepth);
  if (wants("none") && method == fixed_.end() && !counted && !fixed_.contains(kModules))
    recomputations_.push_back({});
  if (wants("selective") && method == fixed_.end() && !counted)
    for (const Modules& set : sets)
      recomputations_.push_back({spec::Recompute::kSelective, false, set});
  if (!wants("full") || fixed_.contains(kModules)) return;
  if ((method == fixed_.end() || method->second == "uniform") && !counted)
    recomputations_.push_back({spec::Recompute::kFull, false, {}});
  if (method == fixed_.end() || method->second == "block")
    recomputations_.push_back({spec::Recompute::kFull, true, {}});
}

bool Space::for_each_layout(const Visit& visit) const {
  LegalityCheck legal(*this);
  return visit_divisions(
      [&](const Layout& division) { return for_each_layout_of(division, legal, visit); });
}

void Space::for_each_division(const std::function<void(const Layout&)>& visit) const {
  visit_divisions([&](const Layout& division) {
    visit(division);
    return true;
  });
}

bool Space::visit_divisions(const Visit& visit) const {
  for (size_t b = 0; b < bases_.size(); ++b) {
    const spec::Job& job = bases_[b].megatron;
    for (const int64_t tp : divisors(job.gpus)) {
      if (!allows(kTp, tp)) continue;
      for (const int64_t cp : divisors(job.gpus / tp)) {
        if (!allows(kCp, cp)) continue;
        for (const int64_t pp : divisors(job.gpus / tp / cp)) {
          if (!allows(kPp, pp)) continue;
          Layout layout;
          layout.base = static_cast<int32_t>(b);
          layout.tp = layout.etp = tp;
          layout.cp = cp;
          layout.pp = pp;
          layout.dp = job.gpus / tp / cp / pp;
          if (allows(kDp, layout.dp) && !visit_experts(layout, visit)) return false;
        }
      }
    }
  }
  return true;
}

bool Space::visit_experts(Layout layout, const Visit& visit) const {
  const spec::Job& job = base_of(layout).megatron;
  const int64_t experts = job.model.experts.count;
  if (experts == 0) return visit(layout);
  const int64_t stage = layout.tp * layout.cp * layout.dp;
  for (const int64_t ep : divisors(stage)) {
    // Ranks divide the experts, or with their copies; the latter is checked with the rest.
    if (experts % ep != 0 && job.placed_experts() % ep != 0) continue;
    if (!allows(kEp, ep)) continue;
    for (const int64_t etp : divisors(layout.tp)) {
      if (stage % (ep * etp) != 0 || !allows(kEtp, etp)) continue;
      layout.ep = ep;
      layout.etp = etp;
      if (!visit(layout)) return false;
    }
  }
  return true;
}

std::vector<Layout> Space::layouts() const {
  std::vector<Layout> layouts;
  for_each_layout([&](const Layout& layout) {
    layouts.push_back(layout);
    return true;
  });
  return layouts;
}

bool Space::for_each_layout_of(const Layout& division, LegalityCheck& legal,
                               const Visit& visit) const {
  const spec::Job& job = base_of(division).megatron;
  // Told without trying: most divisions of many GPUs.
  if (job.model.heads % division.tp != 0 || division.pp > job.model.pipeline_layers() + 2)
    return true;
  return visit_chunks(division, legal, visit);
}

std::string Space::refusal(const Layout& division, LegalityCheck& legal) const {
  Candidate plain;
  Layout& layout = plain.layout;
  layout = division;
  layout.vpp = fixed_number(kVpp).value_or(1);
  layout.micro_batch = fixed_number(kMicroBatch).value_or(1);
  layout.sequence_parallel = layout.tp > 1 && fixed_switch(kSp).value_or(true);
  layout.schedule = layout.vpp > 1 ? spec::Schedule::kInterleaved : spec::Schedule::kOneFOneB;
  if (const auto fixed = fixed_.find(kSchedule); fixed != fixed_.end() && layout.pp > 1)
    for (size_t i = 0; i < kSchedules.size(); ++i)
      if (fixed->second == kSchedules[i]) layout.schedule = static_cast<spec::Schedule>(i);
  plain.data.sharding = Sharding::kZero0;
  if (recomputations_.empty()) return "what is fixed of the recomputation contradicts itself";
  if (!legal.splits(layout).empty()) layout.split = legal.splits(layout).front();
  if (std::string why = legal.illegal(plain); !why.empty()) return why;
  if (choice_.refuses)
    if (std::string why = legal.refused(plain); !why.empty()) return why;
  return "what is fixed contradicts itself or this division of the GPUs";
}

bool Space::visit_chunks(Layout layout, LegalityCheck& legal, const Visit& visit) const {
  const spec::Job& job = base_of(layout).megatron;
  // The embedding and the loss may stand on chunks of their own.
  const int64_t most = layout.pp == 1 ? 1 : (job.model.pipeline_layers() + 2) / layout.pp;
  const auto fixed = fixed_.find(kSchedule);
  for (int64_t vpp = 1; vpp <= most; ++vpp) {
    if (!allows(kVpp, vpp)) continue;
    layout.vpp = vpp;
    for (size_t i = 0; i < kSchedules.size(); ++i) {
      layout.schedule = static_cast<spec::Schedule>(i);
      if ((layout.schedule == spec::Schedule::kInterleaved) != (vpp > 1)) continue;
      // One stage has one order of work.
      if (layout.pp == 1 && layout.schedule != spec::Schedule::kOneFOneB) continue;
      if (fixed != fixed_.end() && fixed->second != kSchedules[i] && layout.pp > 1) continue;
      for (const Split split : legal.splits(layout)) {
        layout.split = split;
        if (!visit_batches(layout, legal, visit)) return false;
      }
    }
  }
  return true;
}

bool Space::visit_batches(Layout layout, LegalityCheck& legal, const Visit& visit) const {
  const spec::Job& job = base_of(layout).megatron;
  if (job.training.global_batch % layout.dp != 0) return true;
  for (const int64_t micro_batch : divisors(job.training.global_batch / layout.dp)) {
    if (!allows(kMicroBatch, micro_batch)) continue;
    layout.micro_batch = micro_batch;
    for (const bool sequence : {false, true}) {
      if ((sequence && layout.tp == 1) || !allows_switch(kSp, sequence)) continue;
      layout.sequence_parallel = sequence;
      Candidate probe;
      probe.layout = layout;
      probe.data.sharding = Sharding::kZero0;
      if (recomputations_.empty() || !legal(probe)) continue;
      if (choice_.refuses && options(layout, legal).candidates() == 0) continue;
      if (!visit(layout)) return false;
    }
  }
  return true;
}

Options Space::options(const Layout& layout, LegalityCheck& legal) const {
  Options options;
  add_recomputations(layout, legal, options);
  add_overlaps(layout, legal, options);
  add_data(layout, legal, options);
  if (choice_.refuses) keep_accepted(layout, legal, options);
  return options;
}

/// What is refused of one list is so whatever is taken of the others: one candidate that is not
/// refused tells what of each list is.
void Space::keep_accepted(const Layout& layout, LegalityCheck& legal, Options& options) const {
  const auto accepted = [&](const Recomputation& recomputation, const Overlap& overlap,
                            const DataOption& data) {
    return legal.refused({layout, recomputation, overlap, data}).empty();
  };
  for (const Overlap& o : options.overlaps)
    for (const DataOption& d : options.data)
      for (const Recomputation& r : options.recomputations) {
        if (!accepted(r, o, d)) continue;
        const Overlap overlap = o;
        const DataOption data = d;
        const Recomputation recomputation = r;
        std::erase_if(options.recomputations,
                      [&](const Recomputation& it) { return !accepted(it, overlap, data); });
        std::erase_if(options.overlaps,
                      [&](const Overlap& it) { return !accepted(recomputation, it, data); });
        // A sharding that does not go with every overlap is left out: candidates are a product.
        std::erase_if(options.data, [&](const DataOption& it) {
          return std::ranges::any_of(options.overlaps, [&](const Overlap& beside) {
            return !accepted(recomputation, beside, it);
          });
        });
        return;
      }
  options = {};
}

void Space::add_recomputations(const Layout& layout, LegalityCheck& legal, Options& options) const {
  const auto depth = fixed_number(kDepth);
  for (size_t i = 0; i < recomputations_.size(); ++i) {
    const auto choice = static_cast<int32_t>(i);
    Candidate probe;
    probe.layout = layout;
    probe.data.sharding = Sharding::kZero0;
    probe.recomputation = {choice, recomputations_[i].block ? 1 : 0};
    if (!legal(probe)) continue;
    if (!recomputations_[i].block) {
      options.recomputations.push_back({choice, 0});
      continue;
    }
    // All layers of a chunk are what "uniform" recomputes.
    const int64_t first = depth.value_or(1);
    const int64_t last = depth.value_or(legal.longest_chunk(layout) - 1);
    for (int64_t d = first; d <= last; ++d)
      options.recomputations.push_back({choice, static_cast<int32_t>(d)});
  }
}

void Space::add_overlaps(const Layout& layout, LegalityCheck& legal, Options& options) const {
  const spec::Job& job = base_of(layout).megatron;
  const auto values = [&](bool meaningful, std::string_view name) {
    std::vector<bool> list;
    for (const bool on : {false, true})
      if ((meaningful || !on) && allows_switch(name, on)) list.push_back(on);
    return list;
  };
  const bool experts = job.model.experts.count > 0;
  for (const bool tensor : values(layout.tp > 1 && layout.sequence_parallel, kTensorOverlap))
    for (const bool pipeline : values(layout.pp > 1, kP2pOverlap))
      for (const bool expert : values(experts && layout.ep > 1, kExpertOverlap))
        for (const bool shared : values(job.model.experts.shared_ffn > 0, kSharedOverlap)) {
          Candidate probe;
          probe.layout = layout;
          probe.data.sharding = Sharding::kZero0;
          probe.overlap = {tensor, pipeline, expert, shared};
          if (legal(probe)) options.overlaps.push_back(probe.overlap);
        }
}

void Space::add_data(const Layout& layout, LegalityCheck& legal, Options& options) const {
  using enum Sharding;
  constexpr std::array<DataOption, 9> kAll = {{{kZero0, false, false},
                                               {kZero0, true, false},
                                               {kZero1, false, false},
                                               {kZero1, true, false},
                                               {kZero1, true, true},
                                               {kZero2, false, false},
                                               {kZero2, true, true},
                                               {kZero3, false, false},
                                               {kFsdp, true, true}}};
  const bool sends = replicas(layout) > 1;
  const auto zero = fixed_number(kZero);
  const auto fsdp = fixed_switch(kFullySharded);
  for (const DataOption& option : kAll) {
    const bool is_fsdp = option.sharding == kFsdp;
    if (!sends && !(option == kAll[0] || (zero && !option.overlap_gradients))) continue;
    if (zero && *zero != std::min<int64_t>(static_cast<int64_t>(option.sharding), 3)) continue;
    if (fsdp && *fsdp != is_fsdp) continue;
    const bool own_overlap = !is_fsdp && option.sharding != kZero3;
    if (own_overlap && (!allows_switch(kGradients, option.overlap_gradients) ||
                        !allows_switch(kParameters, option.overlap_parameters)))
      continue;
    Candidate probe;
    probe.layout = layout;
    probe.data = option;
    if (legal(probe)) options.data.push_back(option);
  }
}

}  // namespace ergometer::search
