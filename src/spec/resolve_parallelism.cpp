#include <fmt/format.h>

#include <algorithm>

#include "spec/pipeline_layout.h"
#include "spec/rank_map.h"
#include "spec/resolve.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kTp = "tensor_model_parallel_size";
constexpr std::string_view kCp = "context_parallel_size";
constexpr std::string_view kPp = "pipeline_model_parallel_size";
constexpr std::string_view kVpp = "virtual_pipeline_model_parallel_size";
constexpr std::string_view kDp = "data_parallel_size";
constexpr std::string_view kGpus = "gpus";
constexpr std::string_view kRankMap = "rank_map";
constexpr int64_t kMostGpus = 1'048'576;

bool is_inference(const Job& job) {
  return job.training.mode == Mode::kPrefill || job.training.mode == Mode::kDecode;
}

void read_group_sizes(SettingReader& read, Parallelism& p) {
  p.tp = read.integer(kTp, 1, "not split");
  p.cp = read.integer(kCp, 1, "not split");
  p.pp = read.integer(kPp, 1, "one stage");
  p.ep = read.integer("expert_model_parallel_size", 1, "every rank holds all experts");
  p.etp = read.integer("expert_tensor_parallel_size", p.tp, "as tensor parallelism");
  p.cp_comm = static_cast<CpComm>(read.choice("cp_comm_type", 0, "Megatron-LM's: ring"));
}

void read_gpus(SettingReader& read, Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t node = job.cluster.node.gpus;
  const int64_t asked_dp = read.given(kDp) ? read.integer(kDp, 1, "") : 1;
  if (read.error()) return;
  // Factor by factor: four times the largest size would not fit 64 bits.
  int64_t least = 1;
  for (const int64_t size : {p.tp, p.cp, p.pp, asked_dp}) {
    least *= size;
    if (least > kMostGpus)
      return read.refuse(fmt::format(
          "tp x cp x pp{} = {} x {} x {}{} makes more than {} GPUs", read.given(kDp) ? " x dp" : "",
          p.tp, p.cp, p.pp, read.given(kDp) ? fmt::format(" x {}", asked_dp) : "", kMostGpus));
  }
  if (read.given(kDp))
    job.gpus = read.integer(kGpus, least, "tp x cp x pp x dp");
  else if (job.cluster.nodes > 0)
    job.gpus = read.integer(kGpus, job.cluster.nodes * node, "the whole cluster");
  else if (least > node)
    job.gpus = read.integer(kGpus, least, "tp x cp x pp");
  else
    job.gpus = read.integer(kGpus, node, "one node");
}

std::string multiples_text(int64_t unit, int64_t near) {
  const int64_t below = near / unit * unit;
  return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

void check_gpus(SettingReader& read, const Job& job) {
  const int64_t node = job.cluster.node.gpus;
  if (job.cluster.nodes > 0 && job.gpus > job.cluster.nodes * node)
    return read.refuse(fmt::format("{} is more than the {} GPUs of {} ({} {} of {})",
                                   read.said(kGpus, job.gpus), job.cluster.nodes * node,
                                   job.cluster.name, job.cluster.nodes,
                                   job.cluster.nodes == 1 ? "node" : "nodes", node));
  if (job.gpus > node && job.gpus % node != 0)
    read.refuse(fmt::format("{} leaves a node of {} GPUs half used; try {}",
                            read.said(kGpus, job.gpus), node, multiples_text(node, job.gpus)));
}

void compute_dp(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  const int64_t unit = p.tp * p.cp * p.pp;
  if (job.gpus % unit != 0)
    return read.refuse(fmt::format(
        "{} is not a multiple of tp x cp x pp = {} x {} x {} = {}; try {}",
        read.said(kGpus, job.gpus), p.tp, p.cp, p.pp, unit, multiples_text(unit, job.gpus)));
  p.dp = job.gpus / unit;
  if (read.given(kDp) && read.integer(kDp, p.dp, "") != p.dp)
    return read.refuse(fmt::format(
        "{} contradicts gpus / (tp x cp x pp) = {} / ({} x {} x {}) = {}; leave one out",
        read.said(kDp), job.gpus, p.tp, p.cp, p.pp, p.dp));
  read.derive(kDp, "gpus / (tp x cp x pp)");
}

void read_uneven_stages(SettingReader& read, Parallelism& p) {
  p.first_stage_layers =
      read.integer("decoder_first_pipeline_num_layers", 0, "as the other stages");
  p.last_stage_layers = read.integer("decoder_last_pipeline_num_layers", 0, "as the other stages");
  p.embedding_counts_as_layer =
      read.flag("account_for_embedding_in_pipeline_split", false, "Megatron-LM's");
  p.loss_counts_as_layer = read.flag("account_for_loss_in_pipeline_split", false, "Megatron-LM's");
  p.stage_layers = read.integers("stage_layers");
  const std::string layout = read.text("pipeline_model_parallel_layout");
  if (layout.empty()) return;
  const auto parsed = parse_pipeline_layout(layout);
  if (!p.stage_layers.empty())
    read.refuse(fmt::format("{} and stage_layers say the same twice; leave one out",
                            read.said("pipeline_model_parallel_layout")));
  else if (!parsed)
    read.refuse(
        fmt::format("{}: {}", read.said("pipeline_model_parallel_layout"), parsed.error().message));
  else
    p.stage_layers = *parsed;
}

void read_rank_map(SettingReader& read, Parallelism& p) {
  const std::string text = read.text(kRankMap);
  if (text.empty()) return;
  auto map = parse_rank_map(text);
  if (map)
    p.rank_map = std::move(*map);
  else
    read.refuse(fmt::format("{}: {}", read.where(kRankMap), map.error().message));
}

/// Chunks a stage: as given, or from the layers of a chunk, or from a list of all chunks.
void read_chunks(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  constexpr std::string_view kPerChunk = "num_layers_per_virtual_pipeline_stage";
  if (read.given(kPerChunk) && read.given(kVpp))
    return read.refuse(fmt::format("{} and {} say the same twice; leave one out",
                                   read.said(kPerChunk), read.said(kVpp)));
  if (read.given(kPerChunk)) {
    const int64_t per_chunk = read.integer(kPerChunk, 1, "");
    if (read.error()) return;
    if (job.model.layer_count() % (p.pp * per_chunk) != 0)
      return read.refuse(fmt::format("{}: {} layers do not divide into chunks of {} on {} stages",
                                     read.said(kPerChunk), job.model.layer_count(), per_chunk,
                                     p.pp));
    p.vpp = job.model.layer_count() / (p.pp * per_chunk);
    return read.derive(kVpp, "layers / (pp x num_layers_per_virtual_pipeline_stage)");
  }
  const auto chunks = static_cast<int64_t>(p.stage_layers.size());
  const int64_t from_list = chunks > 0 && chunks % p.pp == 0 ? chunks / p.pp : 1;
  p.vpp =
      read.integer(kVpp, from_list, chunks > 0 ? "the list of stage layers" : "one chunk a stage");
}

void read_schedule(SettingReader& read, Parallelism& p) {
  const Schedule fallback = p.vpp > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB;
  p.schedule = static_cast<Schedule>(
      read.choice("schedule", fallback == Schedule::kInterleaved ? 1 : 0,
                  p.vpp > 1 ? "interleaved with more than one chunk a stage" : "1f1b"));
  p.microbatch_group =
      read.integer("microbatch_group_size_per_virtual_pipeline_stage", p.pp, "as pipeline stages");
}

void read_sharding(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  const bool inference = is_inference(job);
  p.fsdp = read.flag("fsdp", false, "not asked for");
  const int64_t zero = inference ? 0 : p.fsdp ? 3 : 1;
  p.zero_stage = static_cast<int>(read.integer("zero", zero,
                                               inference ? "no optimizer"
                                               : p.fsdp  ? "FSDP shards all"
                                                         : "distributed optimizer"));
  p.fsdp_shard_size = read.integer("fsdp_shard_size", 0, "all of dp");
}

}  // namespace

void resolve_groups(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  read_group_sizes(read, p);
  read_uneven_stages(read, p);
  read_rank_map(read, p);
  if (read.error()) return;
  read_chunks(read, job);
  read_schedule(read, p);
  const bool inference = is_inference(job);
  p.sequence_parallel = read.flag(
      "sequence_parallel", p.tp > 1 && !inference,
      inference ? "off in inference" : "sequence parallelism goes with tensor parallelism");
}

void resolve_ranks(SettingReader& read, Job& job) {
  read_gpus(read, job);
  if (read.error()) return;
  compute_dp(read, job);
  check_gpus(read, job);
  read_sharding(read, job);
}

}  // namespace ergometer::spec
