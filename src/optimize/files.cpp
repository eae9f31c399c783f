#include "optimize/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "optimize/clocks.h"
#include "plan/stages.h"
#include "spec/settings/rank_map.h"

namespace ergometer::optimize {
namespace {

std::string list_text(const std::vector<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

/// Caps and locks that hold on every GPU of the job, rank by rank.
std::vector<GpuSetting> gpu_settings(const spec::Job& unchanged, const spec::Job& chosen) {
  const int64_t per_node = chosen.cluster.node.gpus;
  std::map<int64_t, int64_t> rank_on;
  for (int64_t rank = 0; rank < chosen.gpus; ++rank)
    rank_on[chosen.parallelism.gpu_of(rank)] = rank;
  std::map<int64_t, GpuSetting> by_gpu;
  for (const spec::Override& o : chosen.conditions.overrides) {
    const auto& before = unchanged.conditions.overrides;
    const bool given = std::ranges::any_of(
        before, [&](const spec::Override& it) { return it.same_target(o) && it.value == o.value; });
    const bool caps = o.kind == spec::OverrideKind::kPowerCap;
    if (given || o.node < 0 || o.gpu < 0 || (!caps && o.kind != spec::OverrideKind::kLockClock))
      continue;
    GpuSetting& it = by_gpu[o.node * per_node + o.gpu];
    it.node = o.node;
    it.gpu = o.gpu;
    const auto rank = rank_on.find(o.node * per_node + o.gpu);
    it.rank = rank == rank_on.end() ? -1 : rank->second;
    (caps ? it.cap_w : it.lock_mhz) = caps ? o.value : o.value / kMegahertz;
  }
  std::vector<GpuSetting> settings;
  for (const auto& [gpu, setting] : by_gpu) settings.push_back(setting);
  return settings;
}

void say_layers(const Optimized& result, Settings& settings) {
  const std::vector<int64_t> before = plan::layers_per_chunk(result.unchanged);
  const std::vector<int64_t> after = plan::layers_per_chunk(result.chosen);
  if (before == after) return;
  settings.lines.push_back(
      fmt::format("layers by stage: {} (were {})", list_text(after), list_text(before)));
  const spec::Parallelism& p = result.chosen.parallelism;
  const bool ends_only = p.vpp == 1 && p.pp > 2 &&
                         std::adjacent_find(after.begin() + 1, after.end() - 1,
                                            std::not_equal_to<>()) == after.end() - 1;
  if (ends_only)
    settings.megatron.insert(settings.megatron.end(),
                             {fmt::format("--decoder-first-pipeline-num-layers {}", after.front()),
                              fmt::format("--decoder-last-pipeline-num-layers {}", after.back())});
  else
    settings.megatron.push_back(
        fmt::format("--pipeline-model-parallel-layout \"{}\"",
                    megatron_layout(after, result.chosen.model.mtp_layers)));
}

void say_recomputation(const Optimized& result, Settings& settings) {
  const spec::Training &before = result.unchanged.training, &after = result.chosen.training;
  if (before.recompute == after.recompute && before.recompute_layers == after.recompute_layers &&
      before.recompute_method == after.recompute_method &&
      before.recompute_stage_layers == after.recompute_stage_layers)
    return;
  if (after.recompute == spec::Recompute::kNone) {
    settings.lines.emplace_back("no recomputation: leave --recompute-granularity out");
    return;
  }
  settings.megatron.emplace_back("--recompute-granularity full --recompute-method block");
  if (after.recompute_stage_layers.empty()) {
    settings.lines.push_back(
        fmt::format("recompute {} layers of every chunk", after.recompute_layers));
    settings.megatron.push_back(fmt::format("--recompute-num-layers {}", after.recompute_layers));
    return;
  }
  settings.recompute_by_stage = after.recompute_stage_layers;
  settings.lines.push_back(
      fmt::format("recompute by stage: {} layers", list_text(after.recompute_stage_layers)));
}

void say_gpus(const Optimized& result, Settings& settings) {
  settings.gpus = gpu_settings(result.unchanged, result.chosen);
  const auto say = [&](const char* what, const char* unit, double GpuSetting::* member) {
    double low = INFINITY, high = 0;
    int64_t count = 0;
    for (const GpuSetting& gpu : settings.gpus) {
      if (gpu.*member == 0) continue;
      low = std::min(low, gpu.*member);
      high = std::max(high, gpu.*member);
      ++count;
    }
    if (count == 0) return;
    const std::string range =
        low == high ? fmt::format("{:.0f}", low) : fmt::format("{:.0f} to {:.0f}", low, high);
    settings.lines.push_back(
        fmt::format("{} of {} GPU{}: {} {}", what, count, count == 1 ? "" : "s", range, unit));
  };
  say("power cap", "W", &GpuSetting::cap_w);
  say("locked clock", "MHz", &GpuSetting::lock_mhz);
}

std::string quoted(const std::string& text) {
  if (text.starts_with('{')) return text;  // an inline mapping
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Files keep their meaning wherever the job file lies.
std::string absolute_path(const std::string& name, const std::string& text) {
  std::error_code error;
  if ((name != "model" && name != "cluster" && name != "software" && name != "rank_map") ||
      text.starts_with('{') || !std::filesystem::exists(text, error))
    return text;
  const std::filesystem::path path = std::filesystem::absolute(text, error);
  return error ? text : path.string();
}

}  // namespace

std::string megatron_layout(const std::vector<int64_t>& layers, int64_t mtp_layers) {
  std::string text = "E";
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) text += '|';
    if (layers[i] > 0) text += layers[i] == 1 ? "t" : fmt::format("t*{}", layers[i]);
  }
  return text + std::string(static_cast<size_t>(mtp_layers), 'm') + 'L';
}

Settings settings_of(const Optimized& result) {
  Settings settings;
  if (result.keeps) return settings;
  say_recomputation(result, settings);
  say_layers(result, settings);
  if (result.chosen.parallelism.rank_map != result.unchanged.parallelism.rank_map) {
    settings.rank_map = result.chosen.parallelism.rank_map;
    if (settings.rank_map.empty())
      for (int64_t rank = 0; rank < result.chosen.gpus; ++rank) settings.rank_map.push_back(rank);
    settings.lines.push_back(
        fmt::format("GPUs of ranks 0, 1, ...: {}", spec::rank_map_text(settings.rank_map)));
  }
  say_gpus(result, settings);
  return settings;
}

spec::Settings job_settings(const spec::Settings& given, const Optimized& result) {
  spec::Settings settings = given;
  const spec::Job& job = result.chosen;
  const auto set = [&](const char* name, std::string text) {
    settings.set(name, std::move(text), {"optimize", ""});
  };
  if (result.keeps) return settings;
  if (job.parallelism.stage_layers != result.unchanged.parallelism.stage_layers) {
    for (const char* name :
         {"decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
          "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split",
          "pipeline_model_parallel_layout"})
      settings.erase(name);
    set("stage_layers", list_text(job.parallelism.stage_layers));
  }
  const spec::Training& t = job.training;
  for (const char* name : {"recompute_method", "recompute_num_layers", "recompute_stage_layers"})
    settings.erase(name);
  if (t.recompute == spec::Recompute::kNone) settings.erase("recompute_granularity");
  if (t.recompute == spec::Recompute::kFull) {
    set("recompute_granularity", "full");
    set("recompute_method",
        t.recompute_method == spec::RecomputeMethod::kBlock ? "block" : "uniform");
    if (t.recompute_layers > 0) set("recompute_num_layers", std::to_string(t.recompute_layers));
    if (!t.recompute_stage_layers.empty())
      set("recompute_stage_layers", list_text(t.recompute_stage_layers));
  }
  settings.erase("rank_map");
  if (!job.parallelism.rank_map.empty())
    set("rank_map", spec::rank_map_text(job.parallelism.rank_map));
  if (job.conditions.cluster_cap_w == 0) settings.erase("cluster_cap");
  std::vector<std::string> overrides;
  for (const spec::Override& o : job.conditions.overrides) overrides.push_back(o.text);
  settings.erase("override");
  if (!overrides.empty()) set("override", fmt::format("{}", fmt::join(overrides, ",")));
  return settings;
}

std::string job_file(const spec::Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.all())
    text += fmt::format("{}: {}\n", name, quoted(absolute_path(name, value.text)));
  return text;
}

}  // namespace ergometer::optimize
