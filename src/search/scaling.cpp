#include "search/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "engine/simulate.h"
#include "engine/views/step_tasks.h"
#include "run/exposed_collectives.h"
#include "search/space/why_none.h"

namespace ergometer::search {
namespace {

struct KernelTerms {
  double latency_s = 0, transfer_s = 0;
};
using Collective = std::pair<std::string, std::string>;  ///< group and kind

/// Start and hops, and bytes over bandwidth, of a step's collectives, mean over the stages.
std::map<Collective, KernelTerms> kernel_terms(const engine::Simulation& step,
                                               const cost::CostModel& model) {
  std::map<Collective, KernelTerms> terms;
  const plan::Plan& plan = step.plan;
  for (size_t role = 0; role < plan.roles.size(); ++role)
    for (const plan::Instruction& it : plan.roles[role].program) {
      if (it.op < 0 || is_wait(it) || it.kind == plan::InstructionKind::kRecord) continue;
      const auto index = static_cast<size_t>(it.op);
      const workload::Operator& op = plan.operators[index];
      if (op.kind != workload::OperatorKind::kCollective) continue;
      const cost::Terms of = model.terms(op, plan.placements[role][index]);
      KernelTerms& sum =
          terms[{engine::group_word(op.group), engine::collective_word(op.collective)}];
      const auto roles = static_cast<double>(plan.roles.size());
      sum.latency_s += of.latency_s / roles;
      sum.transfer_s += of.transfer_s / roles;
    }
  return terms;
}

Result<std::vector<StepPart>> parts_of(const spec::Job& job) {
  ERGOMETER_ASSIGN(const engine::Simulation step,
                   engine::simulate_in_full(job, engine::one_rank_a_stage(job)));
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  const std::map<Collective, KernelTerms> terms = kernel_terms(step, model);
  const run::Breakdown& all = step.run.performance.breakdown_s;
  std::vector<StepPart> parts = {{.group = "", .kind = "compute", .seconds = all.compute}};
  const auto exposed = run::exposed_collectives(step.run);
  for (size_t i = 0; i < exposed.size(); ++i) {
    StepPart part{
        .group = exposed[i].group, .kind = exposed[i].kind, .seconds = exposed[i].seconds};
    if (const auto at = terms.find({part.group, part.kind}); at != terms.end()) {
      part.latency_s = at->second.latency_s;
      part.transfer_s = at->second.transfer_s;
    }
    part.waiting_s =
        std::max(0.0, step.run.collectives[i].total_s - part.latency_s - part.transfer_s);
    parts.push_back(std::move(part));
  }
  parts.push_back({.group = "", .kind = "optimizer", .seconds = all.optimizer});
  parts.push_back({.group = "", .kind = "idle", .seconds = all.idle});
  return parts;
}

std::string why_nothing(const SearchResult& result) {
  if (!result.complete) return "stopped";
  if (!result.nearest) return "no layout that fits keeps to the limits";
  return fmt::format("nothing fits: the least of any layout is {} of {}",
                     base::format_binary_bytes(result.nearest->needed),
                     base::format_binary_bytes(result.nearest->capacity));
}

/// Why no way to divide the GPUs is legal: the reason of most.
std::string why_no_layout(const Space& space) {
  const WhyNone none = why_none(space);
  return none.ruled_out.empty() ? "no layout is legal" : none.ruled_out.front().why;
}

Result<void> find_best(const spec::Settings& settings, SpaceOptions choice,
                       const SearchOptions& options, AtSize& size) {
  spec::Settings here = settings;
  here.set("gpus", std::to_string(size.gpus), {"--gpus", ""});
  here.set("global_batch_size", std::to_string(size.global_batch),
           settings.find("global_batch_size")->origin);
  choice.gpus.clear();
  const auto space = Space::make(here, choice);
  if (!space) {
    size.none = space.error().message;
    return {};
  }
  if (!space->has_layouts()) {
    size.none = why_no_layout(*space);
    return {};
  }
  ERGOMETER_ASSIGN(SearchResult result, search(*space, options));
  size.candidates = result.candidates;
  if (result.best.empty()) {
    size.none = why_nothing(result);
    return {};
  }
  size.best = std::move(result.best.front());
  ERGOMETER_ASSIGN(size.parts, parts_of(size.best->job));
  return {};
}

double gpu_s_per_token(const AtSize& size, double seconds) {
  return seconds * static_cast<double>(size.gpus) / size.tokens();
}

Growth growth_of(const AtSize& a, const StepPart& before, const AtSize& b, const StepPart& after) {
  const auto more = [&](double StepPart::* member) {
    return gpu_s_per_token(b, after.*member) - gpu_s_per_token(a, before.*member);
  };
  Growth growth{after.group, after.kind, more(&StepPart::seconds), Term::kWork};
  if (after.group.empty()) return growth;
  const std::array<std::pair<double, Term>, 3> terms = {
      {{more(&StepPart::latency_s), Term::kLatency},
       {more(&StepPart::transfer_s), Term::kTransfer},
       {more(&StepPart::waiting_s), Term::kWaiting}}};
  growth.term =
      growth.gpu_s_per_token < 0 ? std::ranges::min(terms).second : std::ranges::max(terms).second;
  return growth;
}

const StepPart* find_part(const std::vector<StepPart>& parts, const StepPart& like) {
  const auto at = std::ranges::find_if(parts, [&](const StepPart& part) {
    return part.group == like.group && part.kind == like.kind;
  });
  return at == parts.end() ? nullptr : &*at;
}

std::vector<Growth> growth_between(const AtSize& a, const AtSize& b) {
  std::vector<Growth> all;
  for (const StepPart& after : b.parts) {
    const StepPart* before = find_part(a.parts, after);
    const StepPart nothing{.group = after.group, .kind = after.kind};
    all.push_back(growth_of(a, before == nullptr ? nothing : *before, b, after));
  }
  for (const StepPart& before : a.parts)
    if (find_part(b.parts, before) == nullptr)
      all.push_back(growth_of(a, before, b, {.group = before.group, .kind = before.kind}));
  std::ranges::stable_sort(all, std::ranges::greater{}, &Growth::gpu_s_per_token);
  return all;
}

Gain gain_of(const std::vector<AtSize>& sizes, size_t first, size_t from, size_t to) {
  const auto rate = [&](size_t i) { return sizes[i].best->run.performance.tokens_per_s; };
  Gain gain{.from = from, .to = to, .growth = growth_between(sizes[from], sizes[to])};
  const double tokens_per_s = rate(to) - rate(from);
  gain.tokens_per_s_per_gpu = tokens_per_s / static_cast<double>(sizes[to].gpus - sizes[from].gpus);
  gain.of_first =
      gain.tokens_per_s_per_gpu / (rate(first) / static_cast<double>(sizes[first].gpus));
  const double watts = sizes[to].meter_w() - sizes[from].meter_w();
  if (watts > 0) gain.tokens_per_j = tokens_per_s / watts;
  return gain;
}

std::vector<Gain> gains_of(const std::vector<AtSize>& sizes) {
  std::vector<Gain> gains;
  std::optional<size_t> first, before;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].best) continue;
    if (before) gains.push_back(gain_of(sizes, *first, *before, i));
    if (!first) first = i;
    before = i;
  }
  return gains;
}

/// Sizes from the smallest, each with its batch.
Result<std::vector<AtSize>> sizes_of(std::vector<int64_t> gpus, int64_t batch, Scaling scaling) {
  std::ranges::sort(gpus);
  std::vector<AtSize> sizes;
  for (const int64_t count : gpus) {
    AtSize size{.gpus = count, .global_batch = batch};
    if (scaling == Scaling::kWeak) {
      if (batch * count % gpus.front() != 0)
        return input_error(
            "--scaling weak: a batch of {} on {} GPUs is no whole number of sequences on {}", batch,
            gpus.front(), count);
      size.global_batch = batch * count / gpus.front();
    }
    sizes.push_back(std::move(size));
  }
  return sizes;
}

}  // namespace

double AtSize::tokens() const {
  return static_cast<double>(global_batch) * static_cast<double>(best->job.training.seq_length);
}

double AtSize::meter_w() const {
  return best && best->run.has_power ? best->run.power.facility_mean_w : 0;
}

Result<ScalingResult> scale(const spec::Settings& settings, const SpaceOptions& space,
                            const SearchOptions& options, Scaling scaling) {
  ERGOMETER_ASSIGN(const int64_t batch,
                   base::parse_count(settings.find("global_batch_size")->text));
  ScalingResult result;
  ERGOMETER_ASSIGN(result.sizes, sizes_of(space.gpus, batch, scaling));
  for (AtSize& size : result.sizes) {
    if (options.stop != nullptr && *options.stop) size.none = "stopped";
    if (size.none.empty()) ERGOMETER_TRY(find_best(settings, space, options, size));
  }
  result.complete = options.stop == nullptr || !*options.stop;
  result.gains = gains_of(result.sizes);
  return result;
}

}  // namespace ergometer::search
