#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "spec/job/pipeline_layout.h"
#include "spec/job/stage_order.h"
#include "spec/resolve/resolve.h"
#include "spec/settings/rank_map.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kGpus = "gpus";

/// GPUs of which every number that the sizes divide is a multiple. Experts that nobody asked to
/// split are not (`settle_expert_tensor`).
int64_t gpu_unit(const SettingReader& read, const Parallelism& p) {
  const int64_t dense = p.tp * p.cp, experts = p.ep * (read.given(kEtp) ? p.etp : 1);
  if (p.ep > kMostRanks / std::max<int64_t>(p.etp, 1)) return dense * p.pp;
  const int64_t stage = std::lcm(dense, experts);
  return stage > kMostRanks / p.pp ? dense * p.pp : stage * p.pp;
}

/// What a user who does not say it runs on: all of the cluster or of a node that the sizes divide,
/// or as many GPUs as they take.
int64_t read_whole(SettingReader& read, const Job& job, int64_t unit) {
  const int64_t node = job.cluster.node.gpus;
  const bool counted = job.cluster.nodes > 0;
  const int64_t all = counted ? job.cluster.nodes * node : node;
  if (unit > all) return read.integer(kGpus, unit, "tp x cp x pp");
  if (all % unit == 0) return read.integer(kGpus, all, counted ? "the whole cluster" : "one node");
  return read.integer(kGpus, all / unit * unit,
                      counted ? "as much of the cluster as the layout divides"
                              : "as much of a node as the layout divides");
}

void read_gpus(SettingReader& read, Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t asked_dp = read.given(kDp) ? read.integer(kDp, 1, "") : 1;
  if (read.error()) return;
  // Factor by factor: four times the largest size would not fit 64 bits.
  int64_t least = 1;
  for (const int64_t size : {p.tp, p.cp, p.pp, asked_dp}) {
    least *= size;
    if (least > kMostRanks)
      return read.refuse("tp x cp x pp{} = {} x {} x {}{} makes more than {} GPUs",
                         read.given(kDp) ? " x dp" : "", p.tp, p.cp, p.pp,
                         read.given(kDp) ? fmt::format(" x {}", asked_dp) : "", kMostRanks);
  }
  if (read.given(kDp))
    job.gpus = read.integer(kGpus, least, "tp x cp x pp x dp");
  else
    job.gpus = read_whole(read, job, gpu_unit(read, p));
}

std::string multiples_text(int64_t unit, int64_t near) {
  const int64_t below = near / unit * unit;
  return below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit);
}

void check_gpus(SettingReader& read, const Job& job) {
  const int64_t node = job.cluster.node.gpus;
  if (job.cluster.nodes > 0 && job.gpus > job.cluster.nodes * node)
    read.refuse("{} is more than the {} GPUs of {} ({} {} of {})", read.said(kGpus, job.gpus),
                job.cluster.nodes * node, job.cluster.name, job.cluster.nodes,
                job.cluster.nodes == 1 ? "node" : "nodes", node);
}

void compute_dp(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  const int64_t unit = p.tp * p.cp * p.pp;
  if (job.gpus % unit != 0)
    return read.refuse("{} is not a multiple of tp x cp x pp = {} x {} x {} = {}; try {}",
                       read.said(kGpus, job.gpus), p.tp, p.cp, p.pp, unit,
                       multiples_text(unit, job.gpus));
  p.dp = job.gpus / unit;
  if (read.given(kDp) && read.integer(kDp, p.dp, "") != p.dp)
    return read.refuse(
        "{} contradicts gpus / (tp x cp x pp) = {} / ({} x {} x {}) = {}; leave one out",
        read.said(kDp), job.gpus, p.tp, p.cp, p.pp, p.dp);
  read.derive(kDp, "gpus / (tp x cp x pp)");
}

void read_stage_layout(SettingReader& read, Parallelism& p) {
  const std::string layout = read.text("pipeline_model_parallel_layout");
  if (layout.empty()) return;
  const auto parsed = parse_pipeline_layout(layout);
  if (!p.stage_layers.empty())
    read.refuse("{} and stage_layers say the same twice; leave one out",
                read.said("pipeline_model_parallel_layout"));
  else if (!parsed)
    read.refuse("{}: {}", read.said("pipeline_model_parallel_layout"), parsed.error().message);
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
    read.refuse("{}: {}", read.where(kRankMap), map.error().message);
}

std::optional<ScheduleFile> read_schedule_file(SettingReader& read) {
  const std::string value = read.text(kScheduleFile);
  if (value.empty()) return std::nullopt;
  const auto text = schedule_file_text(value);
  if (!text) {
    read.refuse("{}: {}", read.where(kScheduleFile), text.error().message);
    return std::nullopt;
  }
  auto file = parse_schedule(*text);
  if (file) return std::move(*file);
  const std::string path = value.find('\n') == value.npos ? value + ": " : "";
  read.refuse("{}: {}{}", read.where(kScheduleFile), path, file.error().message);
  return std::nullopt;
}

/// Whether the schedule that is asked for has several chunks a stage.
bool asks_for_chunks(SettingReader& read) {
  return read.given("schedule") && !suits(read.choice("schedule", Schedule::kOneFOneB, ""), 1);
}

/// Chunks a stage: as given, or from the layers of a chunk, or from a list of all chunks.
void read_chunks(SettingReader& read, Job& job, const std::optional<ScheduleFile>& file) {
  Parallelism& p = job.parallelism;
  constexpr std::string_view kPerChunk = "num_layers_per_virtual_pipeline_stage";
  if (read.given(kPerChunk) && read.given(kVpp))
    return read.refuse("{} and {} say the same twice; leave one out", read.said(kPerChunk),
                       read.said(kVpp));
  if (read.given(kPerChunk)) {
    const int64_t per_chunk = read.integer(kPerChunk, 1, "");
    if (read.error()) return;
    const int64_t layers = job.model.pipeline_layers() + (p.embedding_counts_as_layer ? 1 : 0) +
                           (p.loss_counts_as_layer ? 1 : 0);
    // Embedding and loss may come to count as layers (`divide_stages`).
    const int64_t counted =
        layers % (p.pp * per_chunk) == 0 ? layers : job.model.pipeline_layers() + 2;
    if (counted % (p.pp * per_chunk) != 0)
      return read.refuse("{}: {} layers do not divide into chunks of {} on {} stages",
                         read.said(kPerChunk), layers, per_chunk, p.pp);
    p.vpp = counted / (p.pp * per_chunk);
    return read.derive(kVpp, "layers / (pp x num_layers_per_virtual_pipeline_stage)");
  }
  const auto chunks = static_cast<int64_t>(p.stage_layers.size());
  const int64_t from_list = chunks > 0 && chunks % p.pp == 0 ? chunks / p.pp : 1;
  if (file) {
    p.vpp = read.integer(kVpp, file->chunks, "the schedule file's");
    return;
  }
  const bool interleaves = p.pp > 1 && chunks == 0 && asks_for_chunks(read);
  p.vpp = read.integer(kVpp, interleaves ? 2 : from_list,
                       interleaves  ? "the fewest chunks that interleave"
                       : chunks > 0 ? "the list of stage layers"
                                    : "one chunk a stage");
}

void read_schedule(SettingReader& read, Parallelism& p, const std::optional<ScheduleFile>& file) {
  p.microbatch_group =
      read.integer("microbatch_group_size_per_virtual_pipeline_stage", p.pp, "as pipeline stages");
  if (!file) {
    p.schedule = read.choice("schedule", p.vpp > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB,
                             p.vpp > 1 ? "interleaved with more than one chunk a stage" : "1f1b");
    return;
  }
  take_schedule(*file, p);
  const Schedule of_file = p.schedule;
  p.schedule = read.choice("schedule", of_file, "the schedule file's");
  if (p.schedule != of_file)
    read.refuse("{} contradicts {}; leave one out", read.said("schedule"),
                read.where(kScheduleFile));
}

/// Where all steps are recovery, nothing is trained apart.
void settle_stage_training(SettingReader& read, Parallelism& p) {
  constexpr std::string_view kRecovery = "recovery_steps";
  if (p.recovery_steps > 0 && !p.trains_apart())
    return read.refuse("{} needs --stage-training local-heads or synthetic-labels",
                       read.said(kRecovery));
  if (p.recovery_steps < 1) return;
  p.stage_training = StageTraining::kTogether;
  read.adjust("stage_training", "all steps are recovery: stages train together");
}

/// On where tensors are split, unless inference; Megatron-LM too switches it off on one rank.
void read_sequence_parallel(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  const bool inference = job.is_inference();
  p.sequence_parallel = read.flag(
      kSp, p.tp > 1 && !inference,
      inference ? "off in inference" : "sequence parallelism goes with tensor parallelism");
  if (p.tp == 1 && p.sequence_parallel) {
    p.sequence_parallel = false;
    read.adjust(kSp, "no sequence parallelism without tensor parallelism");
  }
  const bool overlaps = read.given("tp_comm_overlap") && job.training.overlap_tp;
  if (p.tp == 1 || p.sequence_parallel || !overlaps || inference || read.given(kSp)) return;
  p.sequence_parallel = true;
  read.adjust(kSp, "overlapped tensor parallelism needs sequence parallelism");
}

/// Real jobs do split tensors over nodes; nobody should do it unawares.
void note_reach(SettingReader& read, const Job& job) {
  if (!tensors_leave_domain(job)) return;
  if (read.flag("allow_tp_across_nodes", false, "tensor parallelism stays on the node's links"))
    return;
  read.adjust(kTp, fmt::format("tensor-parallel groups reach beyond the {} GPUs that share fast "
                               "links",
                               job.cluster.domain_gpus));
}

/// Experts are split like the rest unless a stage's ranks or the experts' width do not allow it:
/// then as in the frameworks' recipes not at all. A user's file for Megatron-LM means what it does,
/// which is to split them or to refuse.
void settle_expert_tensor(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  if (job.model.experts.count == 0 || read.given(kEtp) || p.etp == 1) return;
  const int64_t ranks = job.stage_ranks();
  if (ranks % (p.ep * p.etp) == 0 && job.model.experts.ffn % p.etp == 0) return;
  if (job.recipe.source == "file" && job.recipe.name.starts_with("megatron-lm")) return;
  read.adjust(kEtp,
              fmt::format("experts are not split, for ep x tp = {} x {} does not divide the {} "
                          "ranks of a stage",
                          p.ep, p.tp, ranks));
  p.etp = 1;
}

/// PyTorch's FSDP, which can leave parameters gathered. DeepSpeed refuses stages beside ZeRO 2.
bool is_torch(SettingReader& read, const Job& job) {
  return read.choice("framework", job.training.framework, "the software's") ==
             Framework::kTorchFsdp &&
         job.software.name.find("deepspeed") == std::string::npos;
}

/// FSDP gathers parameters again for every micro batch, which stages have many of: beside them
/// torchtitan keeps the parameters gathered over a step.
void settle_sharding(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  if (p.fsdp && !read.given("zero") && p.zero_stage != 3) {
    p.zero_stage = 3;
    read.derive("zero", "FSDP shards all");
  }
  if (p.fsdp && p.zero_stage == 2) {
    p.fsdp = false;
    read.adjust("fsdp", "with --zero 2 the parameters stay gathered over a step");
  }
  if (p.zero_stage != 3 || p.pp == 1 || p.fsdp_shard_size > 0 || !is_torch(read, job)) return;
  constexpr std::string_view kReason =
      "FSDP with pipeline stages keeps the parameters gathered over a step: ZeRO 2";
  read.adjust("zero", kReason);
  if (p.fsdp) read.adjust("fsdp", kReason);
  p.fsdp = false;
  p.zero_stage = 2;
}

/// A number, those of a node, or as many as make so many copies.
void read_shard_size(SettingReader& read, Job& job) {
  constexpr std::string_view kShards = "fsdp_shard_size", kPart = "1/";
  Parallelism& p = job.parallelism;
  // Ranks that share a sequence hold parts of the same copy.
  const int64_t ranks = p.dp * p.cp;
  const std::string said = read.text(kShards);
  if (said.empty()) return read.derive(kShards, "all of dp");
  const bool copies = said.starts_with(kPart);
  const auto number = base::parse_integer(copies ? said.substr(kPart.size()) : said);
  if (said == "node")
    p.fsdp_shard_size = std::min(ranks, std::max<int64_t>(1, job.cluster.node.gpus / p.tp));
  else if (!number || *number < 1 || *number > kMostRanks)
    read.refuse_value(kShards,
                      fmt::format("a whole number from 1 to {}, node, or 1/COPIES", kMostRanks));
  else if (copies && ranks % *number != 0)
    read.refuse("{}: {} ranks do not make {} equal copies; try 1 over {}", read.said(kShards),
                ranks, *number, divisors_text(ranks, *number));
  else
    p.fsdp_shard_size = copies ? ranks / *number : *number;
}

void read_sharding(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  read_shard_size(read, job);
  const bool inference = job.is_inference();
  const int64_t zero = inference ? 0 : p.fsdp ? 3 : 1;
  p.zero_stage = static_cast<int>(read.integer("zero", zero,
                                               inference ? "no optimizer"
                                               : p.fsdp  ? "FSDP shards all"
                                                         : "distributed optimizer"));
  settle_sharding(read, job);
}

}  // namespace

void resolve_groups(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  p.etp = read.integer(kEtp, p.tp, "as tensor parallelism");
  read_stage_layout(read, p);
  read_rank_map(read, p);
  const std::optional<ScheduleFile> file = read_schedule_file(read);
  if (read.error()) return;
  read_chunks(read, job, file);
  read_schedule(read, p, file);
  settle_stage_training(read, p);
  read_sequence_parallel(read, job);
}

void resolve_ranks(SettingReader& read, Job& job) {
  read_gpus(read, job);
  if (read.error()) return;
  compute_dp(read, job);
  check_gpus(read, job);
  settle_expert_tensor(read, job);
  note_reach(read, job);
  read_sharding(read, job);
}

}  // namespace ergometer::spec
