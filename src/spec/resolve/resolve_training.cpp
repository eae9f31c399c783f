#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/collection.h"
#include "spec/job/expert_routing.h"
#include "spec/job/node_groups.h"
#include "spec/job/stage_order.h"
#include "spec/resolve/check_compression.h"
#include "spec/resolve/resolve.h"
#include "spec/settings/schedule_file.h"
#include "spec/settings/setting_names.h"

namespace ergometer::spec {
namespace {

constexpr std::string_view kAccumulation = "gradient_accumulation_steps";
constexpr double kMostSequences = 1e9;

/// 4096 tokens where the model has as many positions.
int64_t usual_positions(const Job& job) { return std::min<int64_t>(job.model.max_positions, 4096); }

/// Those, or as long as documents are, in pieces for context parallelism.
int64_t usual_length(const Job& job) {
  const int64_t cp = job.parallelism.cp, piece = cp > 1 ? 2 * cp : 1;
  const int64_t length = std::max({usual_positions(job), job.training.packed_mean_length, piece});
  return length / piece * piece;
}

/// Frameworks make a learned table as long as the sequences (--max-position-embeddings).
void lengthen_positions(SettingReader& read, Job& job) {
  Model& model = job.model;
  const int64_t length = job.training.seq_length;
  if (model.position_rows == 0 || length <= model.max_positions) return;
  read.adjust("seq_length", fmt::format("the {} positions that {} learns become {}",
                                        model.max_positions, model.name, length));
  model.position_rows += length - model.max_positions;
  model.max_positions = length;
}

/// Nobody asked for sequence parallelism where it does not divide a sequence.
void settle_sequence_parallel(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  if (!p.sequence_parallel || read.given("sequence_parallel") ||
      job.training.seq_length % (p.tp * p.cp) == 0)
    return;
  p.sequence_parallel = false;
  read.adjust(
      "sequence_parallel",
      fmt::format("no sequence parallelism, for {} tokens do not divide by tp x cp = {} x {}",
                  job.training.seq_length, p.tp, p.cp));
}

/// torchtitan's interleaved schedule takes all micro batches in rounds of equal size.
void settle_micro_batch_group(SettingReader& read, Job& job) {
  Parallelism& p = job.parallelism;
  constexpr std::string_view kGroup = "microbatch_group_size_per_virtual_pipeline_stage";
  if (p.schedule != Schedule::kInterleaved || read.given(kGroup) ||
      job.training.framework != Framework::kTorchFsdp)
    return;
  const int64_t batches = job.micro_batches(), rounds = std::max<int64_t>(1, batches / p.pp);
  if (batches % rounds != 0) return;
  p.microbatch_group = batches / rounds;
  read.derive(kGroup, "torchtitan's: all micro batches in rounds of equal size");
}

/// PyTorch's frameworks say a step's batch by micro batches of every replica: one of the step's
/// sequences, these and the micro batch follows from the others.
void read_accumulation(SettingReader& read, Job& job) {
  Training& t = job.training;
  const int64_t dp = job.parallelism.dp;
  const int64_t steps = read.integer(kAccumulation, 1, "");
  const bool whole = read.given(kGbs);
  t.global_batch = whole ? read.integer(kGbs, 1, "") : 0;
  const int64_t shares = whole ? t.global_batch / dp / steps : 0;
  t.micro_batch = whole && !read.given(kMbs) && shares > 0 && shares * dp * steps == t.global_batch
                      ? shares
                      : read.integer(kMbs, 1, "1");
  if (!read.given(kMbs) && whole)
    read.derive(kMbs, "global_batch_size / (gradient_accumulation_steps x dp)");
  if (read.error()) return;
  const auto product =
      static_cast<double>(t.micro_batch) * static_cast<double>(steps) * static_cast<double>(dp);
  const std::string factors =
      fmt::format("micro batch x accumulation x data parallel = {} x {} x {} = {:.0f}",
                  t.micro_batch, steps, dp, product);
  if (product > kMostSequences)
    return read.refuse("{}: {} are more than {:.0f} sequences a step", read.said(kAccumulation),
                       factors, kMostSequences);
  const double rounds = static_cast<double>(t.global_batch) / product;
  if (whole && rounds > 1 && rounds == std::floor(rounds) && job.parallelism.pp > 1 &&
      t.framework == Framework::kTorchFsdp)
    return read.refuse(
        "{} takes the pipeline {:.0f} times, empty in between, which is not modelled: a rank's "
        "batch has {} micro batch{}; try a batch of {:.0f}, or {} micro batches a rank",
        read.said(kGbs, t.global_batch), rounds, steps, steps == 1 ? "" : "es", product,
        static_cast<int64_t>(rounds) * steps);
  if (whole && product != static_cast<double>(t.global_batch))
    return read.refuse("{} contradicts {}; leave one out", read.said(kGbs, t.global_batch),
                       factors);
  t.global_batch = static_cast<int64_t>(product);
  if (!whole) read.derive(kGbs, "micro_batch_size x gradient_accumulation_steps x dp");
}

/// A server decodes all sequences of a replica together; pipeline stages work at once where the
/// batch comes in as many parts at least: the largest that divide it.
void read_micro_batch(SettingReader& read, Job& job) {
  const Parallelism& p = job.parallelism;
  const bool whole = job.training.mode == Mode::kDecode && read.given(kGbs);
  const int64_t batch = whole ? read.integer(kGbs, 1, "") : 0, share = batch / p.dp;
  int64_t parts = std::min(p.pp, share);
  if (share * p.dp != batch || share < 1) {
    job.training.micro_batch = read.integer(kMbs, 1, "1");
    return;
  }
  while (share % parts != 0) ++parts;
  job.training.micro_batch =
      read.integer(kMbs, share / parts,
                   p.pp > 1 ? "what a replica decodes, in a part for every pipeline stage at least"
                            : "all that a replica decodes: global_batch_size / dp");
}

void read_step_batch(SettingReader& read, Job& job) {
  Training& t = job.training;
  const Parallelism& p = job.parallelism;
  if (read.given(kAccumulation)) return read_accumulation(read, job);
  read_micro_batch(read, job);
  if (read.error()) return;
  const int64_t of_file = micro_batches_of(p.order);
  const int64_t group = of_file > 0 ? of_file
                        : p.schedule == Schedule::kInterleaved
                            ? p.microbatch_group
                            : std::max(p.pp, least_micro_batches(p.schedule, p.pp));
  t.global_batch = read.integer(
      kGbs, t.micro_batch * p.dp * group,
      of_file > 0     ? "as many micro batches as the schedule file has"
      : group == p.pp ? "one micro batch for every pipeline stage: micro_batch_size x dp x pp"
      : p.schedule == Schedule::kInterleaved
          ? "one group of micro batches: micro_batch_size x dp x group"
          : "two micro batches for every pipeline stage: micro_batch_size x dp x 2 pp");
  t.least_batch = job.origins[std::string(kGbs)].text.starts_with("default:");
  read.derive(kAccumulation, "global_batch_size / (micro_batch_size x dp)");
}

/// Of a step whose batch is said, one replica's sequences may come in other micro batches; where
/// accumulation alone is, the micro batch may be another, and with it the step's batch.
void settle_micro_batch(const SettingReader& read, Job& job) {
  Training& t = job.training;
  const bool open =
      read.given(kGbs) || !read.given(kAccumulation) ? t.global_batch > job.parallelism.dp : true;
  t.assumed_micro_batch =
      job.trains() && !t.least_batch && open && job.origins[std::string(kMbs)].text == "default: 1";
}

void read_batches(SettingReader& read, Job& job) {
  Training& t = job.training;
  read_step_batch(read, job);
  if (read.error()) return;
  const bool by_documents = t.packed_mean_length > usual_positions(job);
  t.seq_length =
      read.integer("seq_length", usual_length(job),
                   by_documents ? "as long as --packed-mean-length says that documents are"
                                : "the model's positions, at most 4096");
  if (by_documents && !read.given("seq_length") && t.packed_mean_length > job.model.max_positions)
    return read.refuse(
        "{} is more than {}'s {} positions; --seq-length says how long sequences are",
        read.said("packed_mean_length"), job.model.name, job.model.max_positions);
  lengthen_positions(read, job);
  settle_sequence_parallel(read, job);
  settle_micro_batch_group(read, job);
  settle_micro_batch(read, job);
}

void read_recomputation(SettingReader& read, Job& job) {
  Training& t = job.training;
  const bool full = read.given("recompute_method") || read.given("recompute_num_layers") ||
                    read.given("recompute_stage_layers");
  const bool selective = !full && read.given("recompute_modules");
  t.recompute = read.choice("recompute_granularity",
                            full        ? Recompute::kFull
                            : selective ? Recompute::kSelective
                                        : Recompute::kNone,
                            full        ? "whole layers, for it is said how many or how"
                            : selective ? "selective, for modules are given"
                                        : "nothing is computed again");
  const bool counted = t.recompute_layers > 0;
  t.recompute_method =
      read.choice("recompute_method", counted ? RecomputeMethod::kBlock : RecomputeMethod::kUniform,
                  counted ? "block, for a number of layers is given" : "uniform");
  if (!t.recompute_stage_layers.empty() && !read.given("recompute_method"))
    t.recompute_method = RecomputeMethod::kBlock;
  if (t.recompute == Recompute::kSelective && t.recompute_modules.empty())
    t.recompute_modules = {"core_attn"};
}

/// Parameters are gathered early only where they are sharded and gradients leave early: whichever
/// of the three nobody asked for gives way.
void settle_gather(SettingReader& read, Job& job) {
  Training& t = job.training;
  int& zero = job.parallelism.zero_stage;
  constexpr std::string_view kGather = "overlap_param_gather", kReduce = "overlap_grad_reduce";
  if (!t.overlap_param_gather) return;
  const bool unsharded = zero == 0, late = !t.overlap_grad_reduce;
  if (!read.given(kGather) && (unsharded || late)) {
    t.overlap_param_gather = false;
    return read.derive(kGather, unsharded ? "nothing is sharded" : "gradients are reduced late");
  }
  if (unsharded && !read.given("zero")) {
    zero = 1;
    read.adjust("zero", "gathering parameters early takes a distributed optimizer: ZeRO 1");
  }
  if (late && !read.given(kReduce)) {
    t.overlap_grad_reduce = true;
    read.adjust(kReduce, "gathering parameters early goes with reducing gradients early");
  }
}

/// Transfers in the background wait for nothing: of the two, what the software does by itself gives
/// way.
void settle_transfers(SettingReader& read, Training& t) {
  if (!t.overlap_p2p || !t.batch_p2p_sync) return;
  if (!read.given("batch_p2p_sync")) {
    t.batch_p2p_sync = false;
    read.adjust("batch_p2p_sync", "overlapped pipeline transfers do not wait for the device");
  } else if (!read.given("overlap_p2p")) {
    t.overlap_p2p = false;
    read.adjust("overlap_p2p", "pipeline transfers that wait for the device do not overlap");
  }
}

void read_overlap(SettingReader& read, Job& job) {
  Training& t = job.training;
  const bool fsdp = job.parallelism.fsdp;
  const std::string_view reason = fsdp ? "FSDP prefetches" : "not asked for";
  t.overlap_grad_reduce = read.flag("overlap_grad_reduce", fsdp, reason);
  t.overlap_param_gather = read.flag("overlap_param_gather", fsdp, reason);
  settle_gather(read, job);
  const bool interleaved = job.parallelism.vpp > 1;
  t.overlap_p2p = read.flag("overlap_p2p", interleaved && !t.batch_p2p_sync,
                            interleaved ? "Megatron-LM's with more than one chunk a stage"
                                        : "Megatron-LM's with one chunk a stage");
  settle_transfers(read, t);
  const bool whole = job.parallelism.tp > 1 && !job.parallelism.sequence_parallel;
  t.scatter_gather_p2p = t.scatter_gather_p2p && whole;
}

void read_dispatcher(SettingReader& read, Training& t) {
  const int dispatcher = read.choice("moe_token_dispatcher_type", 0, "all-to-all");
  const int backend = read.choice("moe_flex_dispatcher_backend", 0, "Megatron-LM's");
  constexpr int kFlex = 2;
  t.moe_dispatcher = dispatcher != kFlex ? static_cast<MoeDispatcher>(dispatcher)
                     : backend == 0      ? MoeDispatcher::kDeepEp
                                         : MoeDispatcher::kHybridEp;
}

void read_expert_routing(SettingReader& read, Job& job) {
  constexpr std::string_view kName = "moe_routing";
  const std::string text = read.text(kName);
  if (text.empty()) return read.derive(kName, "every expert as many tokens");
  if (job.model.experts.count == 0)
    return read.refuse("{}: {} has no experts", read.said(kName), job.model.name);
  auto routing = parse_expert_routing(text, job.model.experts.count);
  if (routing)
    job.training.moe_routing = std::move(*routing);
  else
    read.refuse("{}: {}", read.where(kName), routing.error().message);
}

/// Where there are copies, they and the experts are placed by load.
void settle_placement(SettingReader& read, Training& t) {
  constexpr std::string_view kPlacement = "moe_expert_placement";
  if (t.moe_redundant_experts == 0 || t.moe_placement == ExpertPlacement::kByLoad) return;
  if (read.given(kPlacement))
    return read.refuse("{} contradicts {}: copies are placed by load", read.said(kPlacement),
                       read.said("moe_redundant_experts"));
  t.moe_placement = ExpertPlacement::kByLoad;
  read.derive(kPlacement, "copies of experts are placed by load");
}

void read_kernels(SettingReader& read, Job& job) {
  Training& t = job.training;
  t.grad_accumulation_fusion = read.flag("gradient_accumulation_fusion", !job.parallelism.fsdp,
                                         job.parallelism.fsdp ? "FSDP cannot" : "fused");
  constexpr std::string_view kReduces = "reduce_every_micro_batch";
  t.reduce_every_micro_batch = read.flag(kReduces, true, "as gradients are sharded");
  const bool scatters = job.parallelism.fsdp ||
                        (t.framework == Framework::kTorchFsdp && job.parallelism.zero_stage >= 2);
  if (!t.reduce_every_micro_batch && !scatters)
    read.refuse("{} needs --fsdp: others reduce once a step, or as their ZeRO stage does",
                read.said(kReduces));
  // Engines that serve models replay graphs: without autograd and Python around every operator.
  t.cuda_graphs = read.flag("cuda_graphs", job.is_inference() || !t.cuda_graph_scope.empty(),
                            job.is_inference()           ? "inference replays graphs"
                            : t.cuda_graph_scope.empty() ? "eager launches"
                                                         : "a scope is given");
  const bool fsdp = job.parallelism.fsdp;
  const Framework own = fsdp ? Framework::kTorchFsdp : t.framework;
  t.framework = read.choice("framework", own,
                            own == Framework::kTorchFsdp  ? "PyTorch FSDP"
                            : own == Framework::kNanotron ? "nanotron"
                                                          : "Megatron-LM");
}

/// The step is simulated operation by operation; what no step in practice comes near would only
/// take long.
void check_work(SettingReader& read, const Job& job) {
  constexpr int64_t kMostLayerPasses = 1 << 20;
  const int64_t batches = job.training.global_batch / job.training.micro_batch / job.parallelism.dp;
  const int64_t layers = job.model.layer_count();
  if (batches <= kMostLayerPasses / layers) return;
  read.refuse(
      "{} makes {} micro batches of {} layers a step; micro batches x layers "
      "may be up to {}; try a larger --mbs or a smaller batch",
      read.said("global_batch_size", job.training.global_batch), batches, layers, kMostLayerPasses);
}

/// Replicas of unlike batches meet once a step, when their gradients are whole.
void check_batches_by_speed(SettingReader& read, const Job& job) {
  if (job.parallelism.group_micro_batches.empty()) return;
  const Parallelism& p = job.parallelism;
  const auto refuse = [&](std::string_view what) {
    read.refuse("{} needs {}", read.said("batches_by_speed"), what);
  };
  if (p.vpp > 1 || !(p.schedule == Schedule::kOneFOneB || p.schedule == Schedule::kGpipe))
    return refuse("the schedule 1f1b or gpipe");
  if (p.shards_gradients()) return refuse("--zero 0 or 1: others meet in every micro batch");
  if (p.ep > 1) return refuse("--ep 1: experts of several replicas meet in every micro batch");
  if (!job.training.sequence_lengths.is_even() || !job.training.moe_routing.is_even())
    refuse("documents and experts' loads that are even");
}

void check_batches(SettingReader& read, const Job& job) {
  const Training& t = job.training;
  const int64_t unit = t.micro_batch * job.parallelism.dp;
  if (job.parallelism.group_micro_batches.empty() && t.global_batch % unit != 0) {
    const int64_t below = t.global_batch / unit * unit;
    return read.refuse(
        "{} is not divisible by micro batch x data parallel = {} x {} = {}; try {}",
        read.said("global_batch_size", t.global_batch), t.micro_batch, job.parallelism.dp, unit,
        below == 0 ? fmt::format("{}", unit) : fmt::format("{} or {}", below, below + unit));
  }
  check_batches_by_speed(read, job);
  check_work(read, job);
  if (t.packed_mean_length > t.seq_length)
    read.refuse("{} is more than {}", read.said("packed_mean_length"),
                read.said("seq_length", t.seq_length));
}

void check_recomputed_stages(SettingReader& read, const Job& job) {
  constexpr std::string_view kName = "recompute_stage_layers";
  const std::vector<int64_t>& layers = job.training.recompute_stage_layers;
  const Parallelism& p = job.parallelism;
  if (layers.empty()) return;
  if (job.training.recompute != Recompute::kFull ||
      job.training.recompute_method != RecomputeMethod::kBlock)
    return read.refuse("{} needs --recompute full --recompute-method block", read.said(kName));
  if (read.given("recompute_num_layers"))
    return read.refuse("{} contradicts {}; leave one out", read.said(kName),
                       read.said("recompute_num_layers"));
  if (std::ssize(layers) != p.pp * p.vpp)
    read.refuse("{} has {} chunks; pp x vpp = {} x {} = {} are needed", read.said(kName),
                layers.size(), p.pp, p.vpp, p.pp * p.vpp);
}

void check_recomputation(SettingReader& read, const Job& job) {
  const Training& t = job.training;
  for (const char* name : {"recompute_method", "recompute_num_layers"})
    if (read.given(name) && t.recompute != Recompute::kFull)
      return read.refuse("{} needs --recompute full", read.said(name));
  if (read.given("recompute_modules") && t.recompute != Recompute::kSelective)
    return read.refuse("{} needs --recompute selective", read.said("recompute_modules"));
  const auto& modules = t.recompute_modules;
  const auto uses = [&](const char* name) { return base::contains(modules, name); };
  if (uses("op") && modules.size() > 1)
    return read.refuse("{}: op chooses by operator, and no module beside it",
                       read.said("recompute_modules"));
  if (uses("mla_up_proj") && job.model.attention != AttentionKind::kLatent)
    read.refuse("{}: mla_up_proj needs latent attention, which {} has not",
                read.said("recompute_modules"), job.model.name);
  for (const char* name : {"moe_act", "moe"})
    if (uses(name) && job.model.experts.count == 0)
      read.refuse("{}: {} needs a mixture of experts; {} is dense", read.said("recompute_modules"),
                  name, job.model.name);
  if (uses("shared_experts") && job.model.experts.shared_ffn == 0)
    read.refuse("{}: {} has no shared experts", read.said("recompute_modules"), job.model.name);
  check_recomputed_stages(read, job);
  if (t.recompute_layers > job.model.layer_count())
    read.refuse("{} is more than the model's {} layers",
                read.said("recompute_num_layers", t.recompute_layers), job.model.layer_count());
}

/// As Megatron-Core has it; the last layer's backward follows at once.
void check_offload(SettingReader& read, const Job& job) {
  constexpr std::string_view kName = "cpu_offloading_num_layers";
  const int64_t layers = job.training.offloaded_layers;
  if (layers == 0) return;
  if (job.parallelism.pp > 1) return read.refuse("{} needs --pp 1", read.said(kName));
  if (job.training.recompute != Recompute::kNone)
    return read.refuse("{} needs --recompute none", read.said(kName));
  if (layers >= job.model.layer_count())
    read.refuse("{}: at least one of the model's {} layers stays", read.said(kName, layers),
                job.model.layer_count());
}

void check_overlap(SettingReader& read, const Job& job) {
  const Training& t = job.training;
  const Parallelism& p = job.parallelism;
  if (t.overlap_param_gather && p.zero_stage == 0)
    read.refuse("{} needs sharded optimizer states; try --zero 1",
                read.said("overlap_param_gather"));
  if (t.overlap_param_gather && !t.overlap_grad_reduce)
    read.refuse("{} needs --overlap-grad-reduce", read.said("overlap_param_gather"));
  if (t.overlap_tp && (p.tp == 1 || !p.sequence_parallel))
    read.refuse("{} needs --tp above 1 and --sequence-parallel", read.said("tp_comm_overlap"));
  if (t.overlap_p2p && t.batch_p2p_sync)
    read.refuse("{} contradicts {}", read.said("overlap_p2p"), read.said("batch_p2p_sync"));
  if (t.moe_shared_overlap && job.model.experts.shared_ffn == 0)
    read.refuse("{}: {} has no shared experts", read.said("moe_shared_expert_overlap"),
                job.model.name);
}

void check_inference(SettingReader& read, const Job& job) {
  if (!job.is_inference()) return;
  if (job.training.recompute != Recompute::kNone)
    read.refuse("{}: inference has no backward", read.said("recompute_granularity"));
  if (job.parallelism.zero_stage > 0)
    read.refuse("{}: inference has no optimizer; try --zero 0",
                read.said(read.given("fsdp") ? "fsdp" : "zero"));
  if (job.parallelism.vpp > 1)
    read.refuse("{}: inference runs one chunk a stage",
                read.said("virtual_pipeline_model_parallel_size", job.parallelism.vpp));
}

/// PEFT's layers_to_transform.
void place_adapters(SettingReader& read, Job& job) {
  constexpr std::string_view kName = "lora_layers";
  const std::vector<int64_t>& list = job.training.lora_layers;
  if (list.empty()) return;
  if (job.training.lora_rank == 0) return read.refuse("{} needs --lora RANK", read.said(kName));
  std::vector<Layer>& layers = job.model.layers;
  if (std::ranges::max(list) >= std::ssize(layers))
    return read.refuse("{}: {} has layers 0 to {}", read.said(kName), job.model.name,
                       std::ssize(layers) - 1);
  for (int64_t i = 0; i < std::ssize(layers); ++i)
    layers[static_cast<size_t>(i)].adapters = base::contains(list, i);
  job.settle_backward();
}

}  // namespace

void resolve_mode(SettingReader& read, Job& job) {
  Training& t = job.training;
  const bool generates = read.given("generate_tokens");
  const bool adapts = t.lora_rank > 0;
  t.mode = read.choice("mode",
                       adapts      ? Mode::kLora
                       : generates ? Mode::kDecode
                                   : Mode::kPretrain,
                       adapts      ? "adapters are asked for"
                       : generates ? "tokens to generate are given"
                                   : "pre-training");
  t.generate_tokens = read.integer("generate_tokens", t.mode == Mode::kDecode ? 1 : 0, "one token");
  if (t.mode == Mode::kLora && t.lora_rank == 0)
    read.refuse("{} needs --lora RANK", read.said("mode"));
  if (t.mode != Mode::kLora && t.lora_rank > 0)
    read.refuse("{} contradicts {}", read.said("lora"), read.said("mode"));
  if (!t.lora_targets.empty() && t.lora_rank == 0)
    read.refuse("{} needs --lora RANK", read.said("lora_targets"));
  if (t.quantize != FrozenWeights::k16Bit && t.lora_rank == 0)
    read.refuse("{} needs --lora RANK", read.said("quantize"));
  if (generates && t.mode != Mode::kDecode)
    read.refuse("{} needs --mode decode", read.said("generate_tokens"));
  const int64_t widest = std::min(job.model.hidden, job.model.ffn);
  if (t.lora_rank > widest)
    read.refuse("{} is more than the narrowest matrix is wide ({})", read.said("lora"), widest);
}

void resolve_training(SettingReader& read, Job& job) {
  resolve_precision(read, job);
  read_batches(read, job);
  read_recomputation(read, job);
  read_overlap(read, job);
  read_dispatcher(read, job.training);
  read_expert_routing(read, job);
  settle_placement(read, job.training);
  resolve_sequences(read, job);
  resolve_vision(read, job);
  read_kernels(read, job);
  settle_autocast(job);
  place_adapters(read, job);
}

void check_training(SettingReader& read, const Job& job) {
  check_precision(read, job);
  check_batches(read, job);
  check_sequences(read, job);
  check_vision(read, job);
  check_recomputation(read, job);
  check_offload(read, job);
  check_overlap(read, job);
  check_compression(read, job);
  check_fuse(read, job);
  check_inference(read, job);
}

}  // namespace ergometer::spec
