// A candidate of a space as a job and as settings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/stages.h"
#include "search/space/axes.h"
#include "search/space/space.h"
#include "search/space/stage_split.h"
#include "spec/job/node_groups.h"
#include "spec/resolve/stage_division.h"
#include "spec/settings/assumed_software.h"
#include "spec/settings/rank_map.h"

namespace ergometer::search {
namespace {

std::string_view on_off(bool on) { return on ? "true" : "false"; }

/// Whether the job's framework divides its layers so by itself. The list would then say nothing but
/// bind the file to so many stages.
bool divides_by_itself(const spec::Job& job) {
  const spec::Parallelism& p = job.parallelism;
  if (p.pp * p.vpp > job.model.pipeline_layers()) return false;
  const bool is_default =
      job.training.framework != spec::Framework::kMegatron || p.stage_layers.empty();
  return is_default && plan::layers_per_chunk(job) == spec::own_stage_layers(job);
}

/// How layers are divided, where the settings leave it to the search.
void set_split(const Space& space, const Candidate& candidate, spec::Settings& settings) {
  const auto set = [&](std::string_view name, std::string text) {
    settings.set(name, std::move(text), {"the search", ""});
  };
  const spec::Job job = space.job(candidate);
  const spec::Parallelism& p = job.parallelism;
  const bool by_layout = candidate.unlike.stage_layers.empty();
  if (candidate.layout.split == Split::kGiven && by_layout) {
    if (p.pp > 1 && !space.splits_are_given() && !divides_by_itself(job))
      set("stage_layers", fmt::format("{}", fmt::join(plan::layers_per_chunk(job), ",")));
    return;
  }
  if (candidate.layout.split == Split::kOwn && by_layout && divides_by_itself(job)) return;
  if (!p.stage_layers.empty())
    set("stage_layers", fmt::format("{}", fmt::join(p.stage_layers, ",")));
  if (p.first_stage_layers > 0)
    set("decoder_first_pipeline_num_layers", std::to_string(p.first_stage_layers));
  if (p.last_stage_layers > 0)
    set("decoder_last_pipeline_num_layers", std::to_string(p.last_stage_layers));
  if (p.embedding_counts_as_layer) set("account_for_embedding_in_pipeline_split", "true");
  if (p.loss_counts_as_layer) set("account_for_loss_in_pipeline_split", "true");
}

void apply_unlike(const OnUnlikeNodes& unlike, spec::Job& job) {
  spec::Parallelism& p = job.parallelism;
  if (!unlike.stage_layers.empty()) {
    p.stage_layers = unlike.stage_layers;
    p.first_stage_layers = p.last_stage_layers = 0;
    p.embedding_counts_as_layer = p.loss_counts_as_layer = false;
  }
  p.batches_by_speed = unlike.batches_by_speed;
  p.group_micro_batches.clear();
  // What cannot be divided so is as the batch says, and no candidate.
  if (p.batches_by_speed) spec::divide_batches_by_speed(job);
}

}  // namespace

spec::Job& CandidateJobs::of(const Candidate& candidate) {
  const Space::Base& base = space_.base_of(candidate.layout);
  const bool fsdp = candidate.data.sharding == Sharding::kFsdp;
  const auto [found, is_new] = jobs_.try_emplace({candidate.layout.base, fsdp});
  if (is_new) found->second = fsdp ? base.fsdp : base.megatron;
  space_.apply(candidate, found->second);
  return found->second;
}

bool LegalityCheck::operator()(const Candidate& candidate) {
  const spec::Job& job = jobs_.of(candidate);
  return spec::check_job(space_.base_of(candidate.layout).settings, job).has_value();
}

std::string LegalityCheck::refused(const Candidate& candidate) {
  return space_.asked_options().refuses(jobs_.of(candidate));
}

std::string LegalityCheck::illegal(const Candidate& candidate) {
  const spec::Job& job = jobs_.of(candidate);
  const auto checked = spec::check_job(space_.base_of(candidate.layout).settings, job);
  return checked ? std::string() : checked.error().message;
}

const std::vector<Split>& LegalityCheck::splits(const Layout& layout) {
  static const std::vector<Split> kGivenAlone = {Split::kGiven};
  if (space_.splits_are_given()) return kGivenAlone;
  const auto [found, is_new] = splits_.try_emplace({layout.base, layout.pp, layout.vpp});
  if (is_new) found->second = splits_of(space_.base_of(layout).megatron, layout.pp, layout.vpp);
  return found->second;
}

int64_t LegalityCheck::longest_chunk(const Layout& layout) {
  Candidate candidate;
  candidate.layout = layout;
  const std::vector<int64_t> layers = plan::layers_per_chunk(jobs_.of(candidate));
  return *std::ranges::max_element(layers);
}

void Space::apply(const Candidate& candidate, spec::Job& job) const {
  const Layout& layout = candidate.layout;
  spec::Parallelism& p = job.parallelism;
  spec::Training& t = job.training;
  p.tp = layout.tp;
  p.cp = layout.cp;
  p.pp = layout.pp;
  p.vpp = layout.vpp;
  // What a recipe divides its own layout by says nothing of others.
  const spec::Parallelism none;
  apply_split(layout.split, splits_given_ ? base_of(layout).megatron.parallelism : none, job);
  p.dp = layout.dp;
  p.ep = layout.ep;
  p.etp = layout.etp;
  p.sequence_parallel = layout.sequence_parallel;
  p.schedule = layout.schedule;
  p.microbatch_group = layout.pp;
  t.micro_batch = layout.micro_batch;
  t.assumed_micro_batch = false;
  const RecomputeChoice& recompute =
      recomputations_[static_cast<size_t>(candidate.recomputation.choice)];
  t.recompute = recompute.granularity;
  t.recompute_method =
      recompute.block ? spec::RecomputeMethod::kBlock : spec::RecomputeMethod::kUniform;
  t.recompute_layers = candidate.recomputation.depth;
  t.recompute_stage_layers.clear();
  t.recompute_modules = recompute.modules;
  job.settle_backward();
  t.scatter_gather_p2p = scatters_ && layout.tp > 1 && !layout.sequence_parallel;
  t.overlap_tp = candidate.overlap.tensor;
  t.overlap_p2p = candidate.overlap.pipeline;
  t.overlap_expert_parallel = candidate.overlap.expert;
  t.moe_shared_overlap = candidate.overlap.shared_expert;
  t.overlap_grad_reduce = candidate.data.overlap_gradients;
  t.overlap_param_gather = candidate.data.overlap_parameters;
  p.fsdp = candidate.data.sharding == Sharding::kFsdp;
  p.zero_stage = std::min(static_cast<int>(candidate.data.sharding), 3);
  if (!spec::is_mixed(job.cluster)) return;
  p.rank_map = candidate.unlike.rank_map.empty() ? base_of(layout).megatron.parallelism.rank_map
                                                 : candidate.unlike.rank_map;
  apply_unlike(candidate.unlike, job);
}

spec::Job Space::job(const Candidate& candidate) const {
  const Base& base = base_of(candidate.layout);
  spec::Job job = candidate.data.sharding == Sharding::kFsdp ? base.fsdp : base.megatron;
  apply(candidate, job);
  return job;
}

spec::Settings Space::settings(const Candidate& candidate) const {
  const Layout& layout = candidate.layout;
  spec::Settings settings = base_of(layout).settings;
  const auto set = [&](std::string_view name, std::string text) {
    settings.set(name, std::move(text), {"the search", ""});
  };
  const auto number = [&](std::string_view name, int64_t value) {
    set(name, std::to_string(value));
  };
  const auto flag = [&](std::string_view name, bool on) { set(name, std::string(on_off(on))); };
  number(kTp, layout.tp);
  flag(kSp, layout.sequence_parallel);
  number(kCp, layout.cp);
  number(kPp, layout.pp);
  number(kVpp, layout.vpp);
  set_split(*this, candidate, settings);
  set(kSchedule, std::string(kSchedules[static_cast<size_t>(layout.schedule)]));
  if (base_of(layout).megatron.model.experts.count > 0) {
    number(kEp, layout.ep);
    number(kEtp, layout.etp);
  }
  number(kMicroBatch, layout.micro_batch);
  if (!candidate.unlike.rank_map.empty())
    set(spec::kRankMap, spec::rank_map_text(candidate.unlike.rank_map));
  if (candidate.unlike.batches_by_speed) flag("batches_by_speed", true);
  const bool fsdp = candidate.data.sharding == Sharding::kFsdp;
  if (fsdp) flag(kFullySharded, true);
  if (!fsdp) number(kZero, static_cast<int64_t>(candidate.data.sharding));
  flag(kGradients, candidate.data.overlap_gradients);
  flag(kParameters, candidate.data.overlap_parameters);
  flag(kTensorOverlap, candidate.overlap.tensor);
  flag(kP2pOverlap, candidate.overlap.pipeline);
  flag(kExpertOverlap, candidate.overlap.expert);
  flag(kSharedOverlap, candidate.overlap.shared_expert);
  const RecomputeChoice& recompute =
      recomputations_[static_cast<size_t>(candidate.recomputation.choice)];
  constexpr std::array<std::string_view, 3> kWords = {"none", "selective", "full"};
  set(kRecompute, std::string(kWords[static_cast<size_t>(recompute.granularity)]));
  if (recompute.granularity == spec::Recompute::kFull)
    set(kMethod, recompute.block ? "block" : "uniform");
  if (recompute.block) number(kDepth, candidate.recomputation.depth);
  if (!recompute.modules.empty())
    set(kModules, fmt::format("{}", fmt::join(recompute.modules, ",")));
  // What every candidate of its kind is estimated under, whatever its own layout would suggest.
  spec::Settings kind = base_of(layout).settings;
  if (fsdp) kind.set(kFullySharded, "true", {"the search", ""});
  (void)spec::keep_assumed_software(kind, settings);
  return settings;
}

}  // namespace ergometer::search
