#include "study/proxy/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "spec/model/scaled_model.h"
#include "spec/settings/setting_values.h"

namespace ergometer::study::proxy {
namespace {

using spec::Job;
using spec::Settings;

constexpr int kSteps = 6;
const spec::Origin kOrigin{"proxy", ""};

/// Settings that say sizes, or divide what sizes say.
constexpr std::array kSizes =
    std::to_array<std::string_view>({"gpus",
                                     "model",
                                     "cluster",
                                     "num_layers",
                                     "pipeline_model_parallel_size",
                                     "virtual_pipeline_model_parallel_size",
                                     "num_layers_per_virtual_pipeline_stage",
                                     "data_parallel_size",
                                     "expert_model_parallel_size",
                                     "moe_redundant_experts",
                                     "global_batch_size",
                                     "gradient_accumulation_steps",
                                     "schedule",
                                     "rank_map",
                                     "stage_layers",
                                     "decoder_first_pipeline_num_layers",
                                     "decoder_last_pipeline_num_layers",
                                     "pipeline_model_parallel_layout",
                                     "microbatch_group_size_per_virtual_pipeline_stage",
                                     "fsdp_shard_size",
                                     "recompute_stage_layers",
                                     "lora_layers",
                                     "cluster_cap",
                                     "override"});

bool is_size(std::string_view name) {
  return std::find(kSizes.begin(), kSizes.end(), name) != kSizes.end();
}

double ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

/// Rounded to a whole multiple, of which it has one at least.
int64_t multiple_of(double number, int64_t step) {
  return std::max<int64_t>(1, std::llround(number / static_cast<double>(step))) * step;
}

std::set<int64_t> micro_batches_of(const Job& job, int64_t pp, int64_t dp, int64_t vpp) {
  const spec::Parallelism& p = job.parallelism;
  const auto own = static_cast<double>(job.micro_batches());
  const double bubble = p.pp > 1 && pp > 1 ? own * ratio(pp - 1, p.pp - 1) : own;
  const double bytes = p.dp > 1 && dp > 1 ? own * ratio(dp - 1, dp) / ratio(p.dp - 1, p.dp) : own;
  const int64_t step = vpp > 1 ? pp : 1;
  std::set<int64_t> all = {multiple_of(own, step)};
  for (int i = 0; i <= kSteps; ++i)
    all.insert(multiple_of(bubble * std::pow(bytes / bubble, i / double{kSteps}), step));
  return all;
}

/// Layers of the whole model with so many times the large job's in a chunk.
std::set<int64_t> layers_of(const Job& job, int64_t pp, int64_t vpp,
                            const std::vector<double>& factors) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t beside = (p.embedding_counts_as_layer ? 1 : 0) + (p.loss_counts_as_layer ? 1 : 0);
  const double chunk = ratio(job.model.layer_count() + beside, p.pp * p.vpp);
  std::set<int64_t> all;
  for (const double factor : factors) {
    const int64_t layers = multiple_of(chunk * factor, 1) * pp * vpp - beside;
    if (layers >= 1 && layers <= job.model.layer_count()) all.insert(layers);
  }
  return all;
}

/// The large job's expert parallelism, or the largest part of it that the ranks of a stage have
/// room for.
int64_t expert_ranks(const Job& job, int64_t stage_ranks) {
  const spec::Parallelism& p = job.parallelism;
  const int64_t etp = std::max<int64_t>(1, p.etp > 0 ? p.etp : p.tp);
  int64_t ep = p.ep;
  while (ep > 1 && (stage_ranks % (ep * etp) != 0 || p.ep % ep != 0)) --ep;
  return ep;
}

/// Width, heads and inner width in step; nothing where they do not divide.
std::optional<spec::ModelSizes> sizes_of(const Job& job, const Shape& shape) {
  const spec::Model& model = job.model;
  const int eighths = shape.eighths;
  spec::ModelSizes sizes;
  const auto part = [&](int64_t whole) { return whole * eighths / kWholeWidth; };
  if (eighths < kWholeWidth) {
    if (model.heads * eighths % (kWholeWidth * job.parallelism.tp) != 0) return {};
    sizes.hidden = part(model.hidden);
    sizes.ffn = part(model.ffn);
    sizes.heads = part(model.heads);
    const bool shared = model.kv_heads < model.heads && sizes.heads % model.kv_heads == 0;
    sizes.kv_heads = shared ? model.kv_heads : part(model.kv_heads);
  }
  if (shape.ep < job.parallelism.ep)
    sizes.experts = model.experts.count * shape.ep / job.parallelism.ep;
  const auto dense = std::find_if(model.layers.begin(), model.layers.end(),
                                  [](const spec::Layer& layer) { return layer.moe; }) -
                     model.layers.begin();
  if (model.experts.count > 0 && dense > 0)
    sizes.first_dense = std::llround(ratio(dense * shape.layers, model.layer_count()));
  return sizes;
}

/// As many a rank as in the large job, as far as fewer ranks have a use for them.
int64_t copies_of(const Job& large, const spec::ModelSizes& sizes, int64_t ep) {
  const int64_t experts = sizes.experts > 0 ? sizes.experts : large.model.experts.count;
  return std::min(large.expert_slots() * ep - experts, experts * (ep - 1));
}

bool changes(const spec::ModelSizes& sizes) {
  return sizes.hidden > 0 || sizes.experts > 0 || sizes.first_dense >= 0;
}

/// Faults of nodes that the small job has too.
std::string overrides_of(const Job& job, int64_t gpus) {
  std::string text;
  for (const spec::Override& each : job.conditions.overrides)
    if (each.node < (gpus + job.cluster.node.gpus - 1) / job.cluster.node.gpus)
      text += (text.empty() ? "" : ",") + each.text;
  return text;
}

Settings without_sizes(const Settings& large, const Job& job, int64_t gpus) {
  Settings small = large;
  for (const std::string_view name : kSizes)
    if (name != "model" && name != "cluster") small.erase(name);
  const double cap_w = job.conditions.cluster_cap_w;
  if (cap_w > 0)
    small.set("cluster_cap", fmt::format("{:.6g} W", cap_w * ratio(gpus, job.gpus)), kOrigin);
  if (const std::string faults = overrides_of(job, gpus); !faults.empty())
    small.set("override", faults, kOrigin);
  return small;
}

/// What followed from the large job's sizes stays as it was there, where that is legal.
Candidate as_in(const Job& large, Candidate candidate) {
  for (const spec::SettingInfo& info : spec::setting_table()) {
    if (info.text == nullptr || is_size(info.name)) continue;
    const std::string wanted = spec::setting_value(info.name, large);
    if (spec::setting_value(info.name, candidate.job) == wanted) continue;
    Candidate pinned = candidate;
    pinned.settings.set(info.name, wanted, kOrigin);
    auto job = spec::resolve(pinned.settings);
    if (!job) continue;
    pinned.job = *std::move(job);
    candidate = std::move(pinned);
  }
  return candidate;
}

}  // namespace

std::set<Shape> shapes(const Job& large, int64_t gpus, int eighths, bool shallow) {
  const std::vector<double> factors =
      shallow ? std::vector{0.03125, 0.0625, 0.125} : std::vector{0.25, 0.5, 1.0, 2.0};
  const spec::Parallelism& p = large.parallelism;
  const int64_t left = gpus / (p.tp * p.cp);
  std::set<Shape> all;
  for (int64_t pp = 1; pp <= std::min(p.pp, left); ++pp) {
    if (left % pp != 0 || (p.pp > 1 && left / pp > p.dp)) continue;
    Shape shape{.pp = pp, .vpp = pp > 1 ? p.vpp : 1, .dp = left / pp, .eighths = eighths};
    shape.ep = expert_ranks(large, p.tp * p.cp * shape.dp);
    for (const int64_t layers : layers_of(large, pp, shape.vpp, factors))
      for (const int64_t m : micro_batches_of(large, pp, shape.dp, shape.vpp)) {
        shape.layers = layers;
        shape.micro_batches = m;
        all.insert(shape);
      }
  }
  return all;
}

std::set<Shape> shapes_around(const Job& large, const Shape& shape) {
  const int64_t step = shape.vpp > 1 ? shape.pp : 1;
  std::set<Shape> all;
  for (const int64_t layers :
       layers_of(large, shape.pp, shape.vpp, {0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5}))
    for (const double factor : {0.88, 0.94, 1.0, 1.06, 1.12}) {
      Shape near = shape;
      near.layers = layers;
      near.micro_batches = multiple_of(factor * static_cast<double>(shape.micro_batches), step);
      if (near.micro_batches > multiple_of(static_cast<double>(large.micro_batches()), step))
        continue;
      all.insert(near);
    }
  return all;
}

std::optional<Candidate> candidate(const Settings& settings, const Job& large, int64_t gpus,
                                   const Shape& shape) {
  const auto sizes = sizes_of(large, shape);
  if (!sizes) return {};
  Candidate result{shape, without_sizes(settings, large, gpus), {}};
  const auto set = [&](const char* name, const std::string& value) {
    result.settings.set(name, value, kOrigin);
  };
  set("gpus", std::to_string(gpus));
  set("num_layers", std::to_string(shape.layers));
  set("pipeline_model_parallel_size", std::to_string(shape.pp));
  if (shape.vpp > 1) set("virtual_pipeline_model_parallel_size", std::to_string(shape.vpp));
  if (large.parallelism.ep > 1) set("expert_model_parallel_size", std::to_string(shape.ep));
  if (large.training.moe_redundant_experts > 0)
    set("moe_redundant_experts", std::to_string(copies_of(large, *sizes, shape.ep)));
  set("global_batch_size",
      std::to_string(shape.micro_batches * large.training.micro_batch * shape.dp));
  if (shape.pp > 1) set("schedule", spec::setting_value("schedule", large));
  if (changes(*sizes)) {
    const auto model = spec::scaled_model(settings, *sizes);
    if (!model) return {};
    set("model", *model);
  }
  auto job = spec::resolve(result.settings);
  if (!job) return {};
  result.job = *std::move(job);
  return as_in(large, std::move(result));
}

std::vector<std::string> left_out(const Settings& settings, const Job& large) {
  std::vector<std::string> notes;
  const auto note = [&](std::string text) { notes.push_back(std::move(text)); };
  const spec::Parallelism& p = large.parallelism;
  if (!p.rank_map.empty()) note("the rank map is left out: ranks lie in order");
  if (!p.stage_layers.empty() || p.first_stage_layers > 0 || p.last_stage_layers > 0 ||
      settings.find("pipeline_model_parallel_layout") != nullptr)
    note("stages have equal layers: the large job's division is not carried over");
  if (!large.training.recompute_stage_layers.empty())
    note("recomputed layers by stage are not carried over");
  if (!large.training.lora_layers.empty())
    note("all layers have adapters: which of the large job's have is not carried over");
  if (p.fsdp_shard_size > 0) note("a copy of the weights is sharded over all of dp");
  if (large.training.moe_redundant_experts > 0)
    note("of copies of experts a rank keeps as many as a smaller group has a use for; alone, none");
  if (large.conditions.cluster_cap_w > 0) note("the cluster's power cap is that of as many nodes");
  if (!large.conditions.overrides.empty())
    note("faults are carried over where the small job has the node");
  return notes;
}

}  // namespace ergometer::study::proxy
