#include "spec/resolve/stage_division.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "spec/job/nanotron_stages.h"
#include "spec/job/node_groups.h"
#include "spec/resolve/resolve.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kEmbedding = "account_for_embedding_in_pipeline_split";
constexpr std::string_view kLoss = "account_for_loss_in_pipeline_split";
constexpr std::string_view kStageLayers = "stage_layers";

using Layers = std::vector<int64_t>;

std::string no_division(const Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t layers = job.model.pipeline_layers();
  if (p.vpp == 1) return fmt::format("{} layers do not divide over {} stages", layers, p.pp);
  return fmt::format("{} layers do not divide over {} x {} chunks", layers, p.pp, p.vpp);
}

/// NVIDIA's layouts of such models count the embedding and the loss as layers, or the loss alone.
bool count_ends(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  const int64_t chunks = p.pp * p.vpp;
  for (const bool embedding : {true, false}) {
    const int64_t counted = job.model.pipeline_layers() + (embedding ? 2 : 1);
    const bool allowed = (!read.given(kEmbedding) || p.embedding_counts_as_layer == embedding) &&
                         (!read.given(kLoss) || p.loss_counts_as_layer);
    if (!allowed || counted % chunks != 0) continue;
    p.embedding_counts_as_layer = embedding;
    p.loss_counts_as_layer = true;
    const std::string reason = fmt::format(
        "{}: {}", no_division(job),
        embedding ? "embedding and loss count as layers" : "the loss counts as a layer");
    if (embedding && !read.given(kEmbedding)) read.adjust(kEmbedding, reason);
    if (!read.given(kLoss)) read.adjust(kLoss, reason);
    return true;
  }
  return false;
}

/// As many on every chunk, the last takes what is left; balanced, the longer chunks in the middle,
/// where the last would be left without a layer.
Layers filled_up(int64_t layers, int64_t chunks) {
  const int64_t most = (layers + chunks - 1) / chunks, last = layers - most * (chunks - 1);
  const int64_t least = layers / chunks, longer = layers % chunks;
  Layers list;
  for (int64_t i = 0; i < chunks; ++i) {
    const bool middle = i >= (chunks - longer + 1) / 2 && i < (chunks - longer + 1) / 2 + longer;
    list.push_back(last > 0 ? (i + 1 < chunks ? most : last) : least + (middle ? 1 : 0));
  }
  return list;
}

/// The first chunks have one more than the others.
Layers first_longer(int64_t layers, int64_t chunks) {
  Layers list;
  for (int64_t i = 0; i < chunks; ++i)
    list.push_back(layers / chunks + (i < layers % chunks ? 1 : 0));
  return list;
}

/// torchtitan's generate_llm_fqn_per_model_part: embedding and output weigh a layer each.
Layers torchtitan_layers(int64_t layers, int64_t chunks) {
  Layers list = first_longer(layers + 2, chunks);
  --list.front();
  --list.back();
  return list;
}

/// DeepSpeed's partition_uniform, which its pipelines of equal layers end at.
bool is_deepspeed(const Job& job) {
  return job.software.name.find("deepspeed") != std::string::npos;
}

void take_list(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  p.stage_layers = own_stage_layers(job);
  read.adjust(kStageLayers,
              fmt::format("{}: {}", no_division(job), fmt::join(p.stage_layers, ",")));
}

void take_speed_list(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  constexpr std::string_view kBySpeed = "layers_by_speed";
  if (p.says_stage_layers() || p.embedding_counts_as_layer || p.loss_counts_as_layer)
    return read.refuse("{} contradicts a division of layers that is given; leave one out",
                       read.said(kBySpeed));
  if (p.vpp > 1)
    return read.refuse("{} needs one chunk a stage; found {}", read.said(kBySpeed), p.vpp);
  if (job.model.pipeline_layers() < p.pp)
    return read.refuse("{}: {} layers do not divide over {} stages", read.said(kBySpeed),
                       job.model.pipeline_layers(), p.pp);
  p.stage_layers = layers_by_speed(job.model.pipeline_layers(), stage_seconds_per_layer(job));
  read.derive(kStageLayers, "by the speed of each stage's GPUs");
}

}  // namespace

void divide_batches(SettingReader& read, Job& job) {
  if (!job.parallelism.batches_by_speed) return;
  const std::string why = divide_batches_by_speed(job);
  if (!why.empty()) read.refuse("{} {}", read.said("batches_by_speed"), why);
}

std::vector<int64_t> own_stage_layers(const Job& job) {
  const int64_t layers = job.model.pipeline_layers();
  const int64_t chunks = job.parallelism.pp * job.parallelism.vpp;
  if (job.training.framework == Framework::kNanotron && job.parallelism.vpp == 1)
    return nanotron_stage_layers(job, false);
  if (is_deepspeed(job)) return first_longer(layers, chunks);
  const bool torch = job.training.framework == Framework::kTorchFsdp && chunks <= layers;
  return torch ? torchtitan_layers(layers, chunks) : filled_up(layers, chunks);
}

void divide_stages(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  const int64_t chunks = p.pp * p.vpp;
  if (p.layers_by_speed) return take_speed_list(read, job);
  if (p.pp == 1 || p.says_stage_layers()) return;
  if (job.model.vision != nullptr && chunks <= job.model.pipeline_layers()) {
    p.stage_layers = vision_stage_layers(job);
    p.embedding_counts_as_layer = p.loss_counts_as_layer = false;
    return read.derive(kStageLayers, "by the products of the tower's layers and the decoder's");
  }
  const bool counts = p.embedding_counts_as_layer || p.loss_counts_as_layer;
  if (job.training.framework == Framework::kNanotron && p.vpp == 1 && !counts) {
    p.stage_layers = own_stage_layers(job);
    return read.derive(kStageLayers, "nanotron's division by cost");
  }
  if (job.training.framework == Framework::kTorchFsdp && chunks <= job.model.pipeline_layers() &&
      !counts) {
    p.stage_layers = own_stage_layers(job);
    return read.derive(kStageLayers, "torchtitan's division, which counts both ends as layers");
  }
  const int64_t counted = job.model.pipeline_layers() + (p.embedding_counts_as_layer ? 1 : 0) +
                          (p.loss_counts_as_layer ? 1 : 0);
  if (counted % chunks == 0 || count_ends(read, job) || counts) return;
  take_list(read, job);
}

}  // namespace ergometer::spec
