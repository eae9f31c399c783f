// Every parallel size against the model, the cluster and the other sizes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "spec/job/circuits.h"
#include "spec/job/job_words.h"
#include "spec/job/node_groups.h"
#include "spec/resolve/resolve.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

bool allows_reach(SettingReader& read) {
  return read.flag("allow_tp_across_nodes", false, "tensor parallelism stays on the node's links");
}

/// A model of state-space layers alone has no heads of attention to divide.
bool attends(const Model& model) {
  return std::ranges::any_of(model.layers,
                             [](const Layer& layer) { return layer.mixer == Mixer::kAttention; });
}

void check_tensor(SettingReader& read, const Job& job) {
  const int64_t tp = job.parallelism.tp;
  const Model& model = job.model;
  if (attends(model) && model.heads % tp != 0)
    return read.refuse("{} does not divide {} attention heads; try {}", read.said(kTp, tp),
                       model.heads, divisors_text(model.heads, tp));
  // With more ranks than key/value heads every head is held by several ranks.
  if (attends(model) && model.kv_heads % tp != 0 && tp % model.kv_heads != 0)
    return read.refuse("{} and {} key/value heads: one must divide the other; try {}",
                       read.said(kTp, tp), model.kv_heads,
                       divisors_text(std::gcd(model.heads, model.kv_heads), tp));
  const bool has_dense =
      model.experts.count == 0 || std::ranges::any_of(model.layers, [](const Layer& layer) {
        return layer.feed_forward && !layer.moe;
      });
  if (has_dense && model.ffn % tp != 0)
    return read.refuse("{} does not divide the feed-forward width {}; try {}", read.said(kTp, tp),
                       model.ffn, divisors_text(std::gcd(model.heads, model.ffn), tp));
  const StateSpace& ssm = model.state_space;
  if (ssm.heads % tp != 0 || (ssm.heads > 0 && ssm.groups % tp != 0 && tp % ssm.groups != 0))
    return read.refuse(
        "{} and {} state-space heads in {} groups: it must divide the heads, and one of it and the "
        "groups the other; try {}",
        read.said(kTp, tp), ssm.heads, ssm.groups,
        divisors_text(std::gcd(ssm.heads, ssm.groups), tp));
}

void check_reach(SettingReader& read, const Job& job) {
  const int64_t tp = job.parallelism.tp, domain = job.cluster.domain_gpus;
  if ((tp <= domain && domain % tp == 0) || allows_reach(read)) return;
  read.refuse("{} does not fit into {}'s {} GPUs that share fast links; try {}", read.said(kTp, tp),
              job.cluster.name, domain, divisors_text(std::gcd(domain, job.model.heads), tp));
}

/// What Megatron-LM asserts of mixtures of experts is predicted all the same, and told.
void note_experts(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const Training& t = job.training;
  if (job.model.experts.count == 0 || t.framework != Framework::kMegatron) return;
  if (job.trains() && p.tp > 1 && !p.sequence_parallel)
    read.adjust("sequence_parallel",
                "Megatron-LM stops: mixtures of experts under --tp need --sequence-parallel");
  if (t.moe_dispatcher != MoeDispatcher::kDeepEp && t.moe_dispatcher != MoeDispatcher::kHybridEp)
    return;
  // Their kernels move BF16.
  const bool hybrid = t.moe_dispatcher == MoeDispatcher::kHybridEp;
  for (size_t group = 0; group < group_count(job.cluster); ++group) {
    const Gpu& gpu = node_of_group(job.cluster, group).gpu;
    if (gpu.peak_bf16_flops_per_s > 0 && (!hybrid || gpu.vendor == "NVIDIA")) continue;
    return read.adjust(
        "moe_token_dispatcher_type",
        fmt::format("{} has no kernels for {}, and Megatron-LM stops: alltoall does not",
                    hybrid ? "HybridEP" : "DeepEP", gpu.name));
  }
}

/// A tier's ratio is of what it has below to what it has above.
void note_top_tier(SettingReader& read, const Job& job) {
  const std::vector<FabricTier>& tiers = job.cluster.fabric.tiers;
  if (tiers.empty() || tiers.back().oversubscription <= 1 || job.nodes() == 1) return;
  read.adjust("cluster",
              fmt::format("oversubscription {:g} of {}, the highest tier of {}, has no "
                          "effect: nothing is above it; what leads up to it is said of "
                          "the tier below",
                          tiers.back().oversubscription, tiers.back().name, job.cluster.name));
}

/// Only steps of training wait for circuits (plan/step_end.cpp), and not all have phases that
/// differ.
void note_circuits(SettingReader& read, const Job& job) {
  const Reconfigure when = job.cluster.fabric.topology.circuits.when;
  if (when == Reconfigure::kJob || job.nodes() == 1) return;
  if (!job.trains())
    return read.adjust("cluster",
                       fmt::format("reconfigure: {} of {} has no effect on a job that does not "
                                   "train: its circuits are made once, before it starts",
                                   to_word(when), job.cluster.name));
  if (when == Reconfigure::kPhase && !circuit_phases(job).change())
    read.adjust("cluster",
                fmt::format("reconfigure: phase of {} has no effect on this job, whose circuits "
                            "are made once: they change where pipeline stages are several whole "
                            "nodes each and, behind the passes, reduce gradients or gather "
                            "parameters over other links than the passes use",
                            job.cluster.name));
}

/// What Transformer Engine, under Megatron's context parallelism, has no kernels for is predicted
/// all the same, and told.
void note_context(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const Model& m = job.model;
  if (p.cp == 1 || job.training.framework != Framework::kMegatron || !attends(m)) return;
  const bool slides = std::ranges::any_of(m.layers, [&](const Layer& layer) {
    return layer.window > 0 && layer.window < job.training.seq_length;
  });
  if (p.cp_comm == CpComm::kP2p && slides)
    read.adjust("cp_comm_type",
                "Transformer Engine's ring (--cp-comm-type p2p) takes no sliding windows, and "
                "Megatron-LM stops: all_gather and a2a do");
  // Where tp is more than the key/value heads, several ranks hold each.
  const int64_t heads = std::max<int64_t>(1, m.kv_heads / p.tp);
  if (p.cp_comm == CpComm::kAllToAll && m.attention == AttentionKind::kHeads && heads % p.cp != 0)
    read.adjust("cp_comm_type",
                fmt::format("Transformer Engine's all-to-all needs cp {} to divide the {} "
                            "key/value heads of a rank, and Megatron-LM stops: p2p and all_gather "
                            "do not",
                            p.cp, heads));
}

void check_sequence(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t seq = job.training.seq_length;
  if (p.sequence_parallel && p.tp == 1)
    read.refuse("{} needs --tp above 1", read.said("sequence_parallel"));
  if (p.cp > 1 && seq % (2 * p.cp) != 0)
    read.refuse("{} does not divide into 2 x cp = {} pieces, two for each rank; try {}",
                read.said("seq_length", seq), 2 * p.cp, (seq / (2 * p.cp) + 1) * 2 * p.cp);
  if (p.sequence_parallel && seq % (p.tp * p.cp) != 0)
    read.refuse("{} does not divide by tp x cp = {} x {}, as sequence parallelism needs; try {}",
                read.said("seq_length", seq), p.tp, p.cp, (seq / (p.tp * p.cp) + 1) * p.tp * p.cp);
  if (p.cp > 1 && p.cp_comm == CpComm::kAllToAll && attends(job.model) &&
      (job.model.heads / p.tp) % p.cp != 0)
    read.refuse(
        "{} does not divide {} attention heads a rank, as all-to-all needs; try {}, or "
        "--cp-comm-type p2p",
        read.said(kCp, p.cp), job.model.heads / p.tp, divisors_text(job.model.heads / p.tp, p.cp));
  note_context(read, job);
  note_top_tier(read, job);
  note_circuits(read, job);
  note_experts(read, job);
}

/// Layers to divide over the chunks, the embedding and the loss among them where they count.
int64_t counted_layers(const Job& job) {
  const Parallelism& p = job.parallelism;
  return job.model.pipeline_layers() + (p.embedding_counts_as_layer ? 1 : 0) +
         (p.loss_counts_as_layer ? 1 : 0);
}

void check_stage_list(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const std::string_view name =
      read.given("stage_layers") ? "stage_layers" : "pipeline_model_parallel_layout";
  const auto chunks = static_cast<int64_t>(p.stage_layers.size());
  const int64_t layers = std::accumulate(p.stage_layers.begin(), p.stage_layers.end(), int64_t{0});
  if (chunks != p.pp * p.vpp)
    read.refuse("{} has {} chunks; pp x vpp = {} x {} = {} are needed", read.said(name), chunks,
                p.pp, p.vpp, p.pp * p.vpp);
  if (layers != job.model.pipeline_layers())
    read.refuse("{} adds up to {} layers; {} has {}", read.said(name), layers, job.model.name,
                job.model.pipeline_layers());
  const std::pair<const char*, bool> others[] = {
      {"decoder_first_pipeline_num_layers", p.first_stage_layers > 0},
      {"decoder_last_pipeline_num_layers", p.last_stage_layers > 0},
      {"account_for_embedding_in_pipeline_split", p.embedding_counts_as_layer},
      {"account_for_loss_in_pipeline_split", p.loss_counts_as_layer}};
  for (const auto& [other, asked] : others)
    if (asked) read.refuse("{} contradicts {}; leave one out", read.said(other), read.said(name));
}

/// First and last stage as asked for; the others share the rest evenly.
void check_first_and_last(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const char* name = p.first_stage_layers > 0 ? "decoder_first_pipeline_num_layers"
                                              : "decoder_last_pipeline_num_layers";
  if (p.pp == 1) return read.refuse("{} needs --pp above 1", read.said(name));
  if (p.embedding_counts_as_layer || p.loss_counts_as_layer)
    return read.refuse("{} contradicts account_for_embedding/loss_in_pipeline_split",
                       read.said(name));
  const int64_t rest = job.model.pipeline_layers() - p.first_stage_layers - p.last_stage_layers;
  const int64_t stages =
      p.pp - (p.first_stage_layers > 0 ? 1 : 0) - (p.last_stage_layers > 0 ? 1 : 0);
  const bool even = stages == 0 ? rest == 0 : rest > 0 && rest % (stages * p.vpp) == 0;
  const bool own = p.first_stage_layers % p.vpp == 0 && p.last_stage_layers % p.vpp == 0;
  if (!even)
    return read.refuse(
        "{}: {} of {} layers are left, which do not divide over the {} other stages{}",
        read.said(name), rest, job.model.pipeline_layers(), stages,
        p.vpp > 1 ? fmt::format(" of {} chunks", p.vpp) : "");
  if (!own) read.refuse("{} does not divide into {} chunks", read.said(name), p.vpp);
}

void check_even_stages(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t layers = counted_layers(job);
  const std::string with =
      layers == job.model.pipeline_layers() ? "" : " (embedding and loss counted)";
  if (layers % p.pp != 0)
    return read.refuse(
        "{} does not divide {} layers{}; try {}, or give --stage-layers or "
        "--decoder-first-pipeline-num-layers",
        read.said(kPp, p.pp), layers, with, divisors_text(layers, p.pp));
  if (layers % (p.pp * p.vpp) != 0)
    read.refuse("{} does not divide the {} layers of a stage{}; try {}", read.said(kVpp, p.vpp),
                layers / p.pp, with, divisors_text(layers / p.pp, p.vpp));
}

/// The embedding and the loss may stand on chunks of their own. nanotron leaves stages without
/// layers.
void check_chunk_count(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const int64_t layers = job.model.pipeline_layers(), most = layers + 2;
  if (job.training.framework == Framework::kNanotron && p.vpp == 1) return;
  if (p.pp > most)
    return read.refuse("{} makes more stages than {} has layers ({}); try up to {}",
                       read.said(kPp, p.pp), job.model.name, layers, layers);
  if (p.vpp > most / p.pp)
    read.refuse("{} on {} stages makes more chunks than {} has layers ({}); try up to {}",
                read.said(kVpp, p.vpp), p.pp, job.model.name, layers,
                std::max<int64_t>(1, layers / p.pp));
}

void check_stages(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  if (!p.stage_layers.empty()) return check_stage_list(read, job);
  if (p.says_stage_layers()) return check_first_and_last(read, job);
  check_chunk_count(read, job);
}

/// Copies that bring the experts to a multiple of the ranks; nothing where there are none.
std::string fitting_copies(const Job& job, int64_t most) {
  const int64_t copies = job.training.moe_redundant_experts, ep = job.parallelism.ep;
  const int64_t below = copies - job.placed_experts() % ep;
  std::vector<int64_t> fitting;
  for (const int64_t number : {below, below + ep})
    if (number > 0 && number <= most) fitting.push_back(number);
  return fitting.empty() ? "" : "; try " + either(fitting);
}

/// Where ranks do not divide the experts, which of them are a rank's is the placement's choice, and
/// some ranks have more to do than others whatever tokens choose.
void check_undivided_experts(SettingReader& read, const Job& job) {
  const Training& t = job.training;
  if (job.model.experts.count % job.parallelism.ep == 0) return;
  const std::string said = read.said(kEp, job.parallelism.ep);
  const std::string divisors = divisors_text(job.model.experts.count, job.parallelism.ep);
  const bool of_ranks = t.moe_routing.kind == RoutingKind::kHotRank ||
                        t.moe_routing.kind == RoutingKind::kRotatingRank ||
                        t.moe_routing.kind == RoutingKind::kBursts;
  if (of_ranks)
    return read.refuse("{} needs --ep that divides the {} experts: {} does not; try {}",
                       read.said("moe_routing"), job.model.experts.count, said, divisors);
  const bool documents = !t.sequence_lengths.is_even();
  if (documents || job.model.vision != nullptr)
    read.refuse(
        "{} does not divide {} experts, so that some ranks have more to do than others, which is "
        "not modelled together with {}; try {}",
        said, job.model.experts.count, documents ? "unlike documents" : "a vision tower", divisors);
}

/// A rank has as many slots as every other, and no use for an expert twice.
void check_copies(SettingReader& read, const Job& job) {
  const int64_t copies = job.training.moe_redundant_experts, ep = job.parallelism.ep;
  if (copies == 0) return;
  const std::string said = read.said("moe_redundant_experts", copies);
  const int64_t most = job.model.experts.count * (ep - 1);
  if (job.model.experts.count == 0)
    return read.refuse("{} needs a mixture of experts; {} is dense", said, job.model.name);
  if (ep == 1)
    return read.refuse("{} needs --ep 2 or more: alone, a rank holds every expert", said);
  if (copies > most)
    return read.refuse(
        "{} is more than the {} that {} ranks have a use for, each expert once on each; try {}",
        said, most, ep, most);
  if (job.placed_experts() % ep != 0)
    return read.refuse("{} and the {} experts are {}, which {} ranks do not divide{}", said,
                       job.model.experts.count, job.placed_experts(), ep,
                       fitting_copies(job, most));
}

void check_experts(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const Experts& experts = job.model.experts;
  check_copies(read, job);
  if (experts.count == 0) {
    if (p.ep > 1)
      read.refuse("{} needs a mixture of experts; {} is dense", read.said(kEp, p.ep),
                  job.model.name);
    if (read.given(kEtp) && p.etp != p.tp)
      read.refuse("{} needs a mixture of experts; {} is dense", read.said(kEtp, p.etp),
                  job.model.name);
    return;
  }
  if (experts.count % p.ep != 0 && job.training.moe_redundant_experts == 0)
    return read.refuse("{} {} {} experts; try {}", read.said(kEp, p.ep),
                       p.ep > experts.count ? "is more than the" : "does not divide", experts.count,
                       divisors_text(experts.count, p.ep));
  if (experts.ffn % p.etp != 0)
    return read.refuse("{} does not divide an expert's width {}; try {}", read.said(kEtp, p.etp),
                       experts.ffn, divisors_text(experts.ffn, p.etp));
}

void check_expert_ranks(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  if (job.model.experts.count == 0) return;
  const int64_t ranks = job.stage_ranks();
  if (ranks % (p.ep * p.etp) != 0)
    read.refuse(
        "{}: ep x etp = {} x {} = {} does not divide the {} ranks of a stage (tp x cp x dp = {} x "
        "{} x {}); try --ep {}{}",
        read.said(kEp, p.ep), p.ep, p.etp, p.ep * p.etp, ranks, p.tp, p.cp, p.dp,
        divisors_text(std::gcd(job.placed_experts(), std::max<int64_t>(1, ranks / p.etp)), p.ep),
        read.given(kEtp) ? "" : ", or --etp 1 for experts that are not split");
}

void check_sharding(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  if (p.fsdp && p.zero_stage != 3)
    read.refuse("{} contradicts {}: FSDP shards everything, as --zero 3",
                read.said("zero", p.zero_stage), read.said("fsdp"));
  if (p.zero_stage == 3 && p.pp > 1)
    read.refuse(
        "{} cannot be combined with {}: every micro batch would gather the stage's "
        "parameters again; try --pp 1, --zero 1 or {}",
        read.said(p.fsdp ? "fsdp" : "zero"), read.said(kPp, p.pp),
        p.fsdp_shard_size > 0 ? "no --fsdp-shard-size" : "--software torchtitan");
  if (p.zero_stage == 2 && p.pp > 1 && job.software.name.find("deepspeed") != std::string::npos)
    read.refuse(
        "{} cannot be combined with {}: DeepSpeed's pipeline engine refuses ZeRO 2 and 3; try "
        "--zero 1",
        read.said("zero", p.zero_stage), read.said(kPp, p.pp));
  if ((p.fsdp || p.zero_stage > 1) && job.training.framework == Framework::kNanotron)
    read.refuse("{}: nanotron shards optimizer states alone; try --zero 1",
                p.fsdp ? read.said("fsdp") : read.said("zero", p.zero_stage));
  if (p.fsdp_shard_size == 0) return;
  if (p.zero_stage != 3)
    read.refuse("{} needs --fsdp", read.said("fsdp_shard_size", p.fsdp_shard_size));
  // Ranks that share a sequence hold parts of the same copy.
  const int64_t ranks = p.dp * p.cp;
  if (ranks % p.fsdp_shard_size != 0)
    read.refuse("{} does not divide {} data-parallel {}ranks; try {}",
                read.said("fsdp_shard_size", p.fsdp_shard_size), ranks,
                p.cp > 1 ? "and context-parallel " : "", divisors_text(ranks, p.fsdp_shard_size));
  const int64_t copy = p.tp * p.fsdp_shard_size, apart = p.ep * (p.etp > 0 ? p.etp : p.tp);
  if (job.model.experts.count > 0 && copy % apart != 0)
    read.refuse(
        "{} makes copies of {} ranks, over which {} cannot be divided: every copy holds all "
        "experts; try a multiple of {}",
        read.said("fsdp_shard_size", p.fsdp_shard_size), copy, read.said(kEp, p.ep),
        apart / std::gcd(apart, p.tp));
}

void check_network(SettingReader& read, const Job& job) {
  if (job.gpus <= job.cluster.domain_gpus) return;
  for (size_t group = 0; group < group_count(job.cluster); ++group)
    if (const Node& node = node_of_group(job.cluster, group); node.nics.empty())
      return read.refuse("{} spans several nodes, but {} has no NICs", read.said("gpus", job.gpus),
                         is_mixed(job.cluster) ? node.name : job.cluster.name);
  if (!job.cluster.fabric.parameters.has("collective.latency"))
    read.refuse("{} spans several nodes, but {} describes no fabric (key `fabric`)",
                read.said("gpus", job.gpus), job.cluster.name);
}

/// The ranks of a tensor-parallel group multiply in step: on GPUs of one kind.
void check_kinds(SettingReader& read, const Job& job) {
  if (!is_mixed(job.cluster)) return;
  const int64_t tp = job.parallelism.tp;
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const int64_t first = rank / tp * tp;
    const size_t here = group_of_rank(job, rank), there = group_of_rank(job, first);
    if (here == there) continue;
    return read.refuse(
        "ranks {} and {} of one tensor-parallel group lie on {} and on {}; allowed: nodes of one "
        "kind{}",
        first, rank, node_of_group(job.cluster, there).name, node_of_group(job.cluster, here).name,
        job.parallelism.rank_map.empty()
            ? fmt::format("; try a --tp that divides {}", job.cluster.node.gpus)
            : "");
  }
}

/// Every rank on a GPU of its own, tensor-parallel groups on the fast links they need.
void check_rank_map(SettingReader& read, const Job& job) {
  const std::vector<int64_t>& map = job.parallelism.rank_map;
  if (map.empty()) return;
  const int64_t all = job.nodes() * job.cluster.node.gpus, tp = job.parallelism.tp;
  if (std::ssize(map) != job.gpus)
    return read.refuse("{} names {} GPUs; the job has {} ranks", read.where(kRankMap), map.size(),
                       job.gpus);
  std::vector<int64_t> rank_of(static_cast<size_t>(all), -1);
  for (int64_t rank = 0; rank < job.gpus; ++rank) {
    const int64_t gpu = map[static_cast<size_t>(rank)];
    if (gpu >= all)
      return read.refuse("{} puts rank {} on GPU {}; allowed: 0 to {}", read.where(kRankMap), rank,
                         gpu, all - 1);
    int64_t& other = rank_of[static_cast<size_t>(gpu)];
    if (other >= 0)
      return read.refuse("{} puts ranks {} and {} on GPU {}; every rank needs its own",
                         read.where(kRankMap), other, rank, gpu);
    other = rank;
  }
  if (tensors_leave_domain(job) || allows_reach(read)) return;
  for (int64_t rank = 0; rank < job.gpus; ++rank)
    if (job.parallelism.gpu_of(rank) / job.cluster.domain_gpus !=
        job.parallelism.gpu_of(rank / tp * tp) / job.cluster.domain_gpus)
      return read.refuse(
          "{} puts ranks {} and {} of one tensor-parallel group on GPUs {} and {}, which share no "
          "fast links; ask for it with --allow-tp-across-nodes",
          read.where(kRankMap), rank / tp * tp, rank, job.parallelism.gpu_of(rank / tp * tp),
          job.parallelism.gpu_of(rank));
}

}  // namespace

bool tensors_leave_domain(const Job& job) {
  const int64_t tp = job.parallelism.tp, domain = job.cluster.domain_gpus;
  return tp > domain || (domain % tp != 0 && job.gpus > domain);
}

void check_searched(SettingReader& read, const Job& job) {
  check_reach(read, job);
  if (!job.parallelism.says_stage_layers()) check_even_stages(read, job);
}

void check_groups(SettingReader& read, const Job& job) {
  check_tensor(read, job);
  check_stages(read, job);
  check_experts(read, job);
}

void check_ranks(SettingReader& read, const Job& job) {
  const Parallelism& p = job.parallelism;
  const bool counts = p.embedding_counts_as_layer || p.loss_counts_as_layer;
  if (counts && !p.says_stage_layers()) check_even_stages(read, job);
  check_schedule(read, job);
  check_expert_ranks(read, job);
  check_undivided_experts(read, job);
  check_sharding(read, job);
  check_sequence(read, job);
  check_network(read, job);
  if (!read.error()) check_rank_map(read, job);
  if (!read.error()) check_kinds(read, job);
}

}  // namespace ergometer::spec
