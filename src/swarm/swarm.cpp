#include "swarm/swarm.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/collection.h"
#include "cost/cost.h"
#include "engine/simulate.h"
#include "plan/data_parallel.h"
#include "plan/memory.h"
#include "plan/memory_parts.h"
#include "plan/memory_states.h"
#include "plan/stages.h"
#include "spec/resolve/resolve.h"
#include "workload/packing.h"
#include "workload/shapes.h"

namespace ergometer::swarm {
namespace {

using plan::Instruction;
using plan::InstructionKind;
using workload::Pass;

/// The pipeline of the job with one GPU of that kind a stage.
Result<spec::Job> job_on(const spec::Settings& settings, const PeerKind& kind) {
  const spec::Settings::Value* stages = settings.find("pipeline_model_parallel_size");
  if (stages == nullptr)
    return input_error("swarm: the job says no --pp, the stages that peers divide up");
  for (const char* name :
       {"tensor_model_parallel_size", "context_parallel_size",
        "virtual_pipeline_model_parallel_size", "expert_model_parallel_size", "data_parallel_size"})
    if (const spec::Settings::Value* said = settings.find(name); said && said->text != "1")
      return input_error("swarm: found {} = {}; allowed: 1, for a peer is one GPU with one stage{}",
                         name, said->text,
                         name == std::string_view("data_parallel_size")
                             ? " and --peers says how many there are"
                             : "");
  spec::Settings own = settings;
  const spec::Origin origin{"peers", ""};
  own.set("cluster", kind.node, origin);
  own.set("gpus", stages->text, origin);
  own.erase("data_parallel_size");
  ERGOMETER_ASSIGN(spec::Job job, spec::resolve(own));
  const spec::Parallelism& p = job.parallelism;
  if (!job.trains() || p.vpp > 1 || p.schedule != spec::Schedule::kOneFOneB || job.model.vision ||
      job.model.experts.count > 0 || p.fsdp || p.zero_stage > 1 ||
      !job.training.sequence_lengths.is_even())
    return input_error(
        "swarm: stages are trained as 1F1B does, of a dense model of text with sequences of one "
        "length, with --zero 0 or 1");
  return job;
}

/// Seconds and FLOPs of a stage's kernels, launches where they take longer.
struct StageSums {
  double seconds[3] = {0, 0, 0}, host_s[3] = {0, 0, 0};  ///< forward, backward, the step's end
  double flops = 0;
  double of(int part) const { return std::max(seconds[part], host_s[part]); }
};

StageSums sums_of(const engine::Simulation& played, size_t role) {
  StageSums sums;
  const cost::CostTable& costs = played.played_at.costs;
  const std::vector<double>& clocks = played.played_at.clocks_hz;
  const double clock_hz = clocks.size() > 1 ? clocks[role] : clocks.front();
  for (const Instruction& it : played.plan.roles[role].program) {
    const bool compute =
        it.kind == InstructionKind::kCompute && it.stream == workload::Stream::kCompute;
    if (!compute || it.micro_batch > 0) continue;
    const auto op = static_cast<size_t>(it.op);
    const workload::Operator& work = played.plan.operators[op];
    const cost::Price& price = costs.prices[role][op];
    const int part = it.micro_batch < 0 ? 2 : work.pass == Pass::kForward ? 0 : 1;
    sums.seconds[part] += price.fixed_s + price.clocked_s * costs.reference_clock_hz / clock_hz;
    sums.host_s[part] += costs.host_s(work);
    if (part < 2) sums.flops += work.flops;
  }
  return sums;
}

/// A GPU's power at work, from its mean over a step in which it also waits.
void add_power(const spec::Job& job, const run::Run& run, KindPlayed& kind) {
  if (!run.has_power) return;
  const run::Performance& step = run.performance;
  const double busy = (step.breakdown_s.compute + step.breakdown_s.optimizer) / step.step_time_s;
  kind.waiting_w = job.cluster.node.gpu.parameters.value_or("idle_power", 0);
  const double mean_w = run.power.mean_w_per_gpu;
  kind.busy_w = std::max(mean_w, (mean_w - (1 - busy) * kind.waiting_w) / busy);
}

/// What peers of all kinds have in common.
void add_stages(const spec::Job& job, const engine::Simulation& played, Swarm& swarm) {
  const double value_bytes = workload::shapes_of(job).element;
  Pipeline& pipeline = swarm.pipeline;
  swarm.model = job.model.name;
  swarm.hidden = job.model.hidden;
  swarm.micro_batches = pipeline.micro_batches = job.micro_batches();
  swarm.tokens_a_step =
      static_cast<double>(job.training.global_batch) * static_cast<double>(job.training.seq_length);
  swarm.activations = spec::activation_compression(job);
  swarm.gradients = spec::gradient_compression(job);
  pipeline.gathers_gradients = swarm.gradients.kind == spec::Compression::Kind::kTopK;
  pipeline.border_bytes = played.workload.boundary_bytes / value_bytes *
                          spec::wire_bytes(swarm.activations, value_bytes);
  const plan::StateBytes state = plan::state_bytes(job);
  const double gradient = spec::wire_bytes(swarm.gradients, plan::gradient_bytes(job.training));
  if (job.model.tied_embeddings && job.parallelism.pp > 1) {
    const int64_t width = job.model.embedding_dim > 0 ? job.model.embedding_dim : job.model.hidden;
    pipeline.tied_bytes = static_cast<double>(job.padded_vocab()) * static_cast<double>(width) *
                          plan::gradient_bytes(job.training);
  }
  for (const plan::Stage& stage : played.plan.stages) {
    const double elements = plan::stage_parameters(played.workload, stage).trainable_dense;
    pipeline.stages.push_back({gradient * elements, (state.weight + state.optimizer) * elements});
  }
}

/// Of every stage, on GPUs of one kind.
std::vector<StageNeed> needs_of(const spec::Job& job, const engine::Simulation& played) {
  std::vector<StageNeed> needs;
  const std::vector<plan::Stage>& stages = played.plan.stages;
  const plan::MemoryReport report = plan::memory(job, played.workload, stages);
  const bool top_k = spec::gradient_compression(job).kind == spec::Compression::Kind::kTopK;
  for (size_t i = 0; i < stages.size(); ++i) {
    const plan::ChunkMemory chunk = plan::chunk_memory(job, played.workload, stages[i].chunks[0]);
    const auto behind = static_cast<int64_t>(stages.size() - i);
    // What top-k did not send waits in FP32; the job has no replicas that would need it.
    const double unsent_bytes =
        top_k ? 4 * plan::stage_parameters(played.workload, stages[i]).trainable_dense : 0;
    needs.push_back({.capacity = report.stages[i].capacity,
                     .bytes = report.stages[i].needed() + unsent_bytes,
                     .held = std::min(behind, job.micro_batches()),
                     .more_bytes = chunk.kept + chunk.kept_logits});
  }
  return needs;
}

/// The pipeline where lines are so many times faster, and the GPUs' work as long as the fast or
/// slow end of `simulate`.
Pipeline at_end(const Swarm& swarm, double faster) {
  Pipeline pipeline = swarm.pipeline;
  for (size_t i = 0; i < pipeline.kinds.size(); ++i) {
    PeerKind& kind = pipeline.kinds[i];
    for (double* each : {&kind.uplink_bytes_per_s, &kind.downlink_bytes_per_s, &kind.connections})
      *each *= faster;
    const double longer = faster > 1 ? swarm.kinds[i].shortest : swarm.kinds[i].longest;
    for (StageWork& work : pipeline.work[i])
      for (double* each : {&work.forward_s, &work.backward_s, &work.optimizer_s}) *each *= longer;
  }
  return pipeline;
}

/// Tokens a second of draws of who leaves and comes when, from number `first` on; 0 of one in which
/// steps do not end.
std::vector<double> drawn_tokens_per_s(const Swarm& swarm, const Pipeline& pipeline,
                                       const PlayOptions& options, int64_t first) {
  std::vector<double> rates;
  for (int64_t draw = first; draw < swarm.draws; ++draw) {
    PlayOptions drawn = options;
    drawn.seed += static_cast<uint64_t>(draw);
    const auto outcome = play(pipeline, drawn);
    rates.push_back(outcome ? swarm.tokens_per_s() * swarm.outcome.total_s / outcome->total_s : 0);
  }
  return rates;
}

/// What chance does, and how far off the prediction may be, apart.
void add_ranges(const PlayOptions& options, Swarm& swarm) {
  constexpr int64_t kDraws = 5;
  constexpr double kLines = 2;  // assumed: a line may be half or twice as fast as said
  const bool leave = std::ranges::any_of(swarm.pipeline.kinds,
                                         [](const PeerKind& kind) { return kind.stays_s > 0; });
  swarm.draws = leave ? kDraws : 1;
  std::vector<double> rates = drawn_tokens_per_s(swarm, swarm.pipeline, options, 1);
  rates.insert(rates.begin(), swarm.tokens_per_s());  // draw 0 is the one shown
  const auto [low, high] = std::ranges::minmax_element(rates);
  swarm.churn_tokens_per_s_low = *low;
  swarm.churn_tokens_per_s_high = *high;
  const auto at = [&](double faster) {
    const std::vector<double> ends = drawn_tokens_per_s(swarm, at_end(swarm, faster), options, 0);
    return swarm.tokens_per_s() * base::sum(ends) / base::sum(rates);
  };
  swarm.tokens_per_s_low = std::min(swarm.tokens_per_s(), at(1 / kLines));
  swarm.tokens_per_s_high = std::max(swarm.tokens_per_s(), at(kLines));
}

/// Seconds of the kernels around the sum of a stage's gradients, where they are compressed, with
/// so many peers a stage. Those around messages between stages are the plan's own.
Result<std::vector<double>> gradient_packing_s(const spec::Job& job,
                                               const engine::Simulation& played, double peers) {
  const spec::Compression how = spec::gradient_compression(job);
  std::vector<double> seconds(played.plan.stages.size(), 0);
  if (how.none() || peers <= 1) return seconds;
  ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
  workload::Operator sum;
  sum.kind = workload::OperatorKind::kCollective;
  sum.collective = workload::CollectiveKind::kAllReduce;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double elements =
        plan::stage_parameters(played.workload, played.plan.stages[i]).trainable_dense;
    const auto packed =
        workload::packed_reduction(how, sum, elements, plan::gradient_bytes(job.training), peers);
    for (const workload::Operator& kernel : {packed.packing->pack, packed.packing->unpack})
      seconds[i] += model.price(kernel, {}).seconds();
  }
  return seconds;
}

/// `peers`: of all kinds together.
Result<void> add_kind(const spec::Settings& settings, const PeerKind& kind, double peers,
                      Swarm& swarm) {
  ERGOMETER_ASSIGN(const spec::Job job, job_on(settings, kind));
  ERGOMETER_ASSIGN(const engine::Simulation played,
                   engine::simulate_in_full(job, {.kernels = false, .intervals = false}));
  if (swarm.kinds.empty()) add_stages(job, played, swarm);
  KindPlayed added{.kind = kind, .gpu = job.cluster.node.gpu.name, .share = {}};
  const run::Performance& step = played.run.performance;
  added.one_f_one_b_s = step.step_time_s;
  added.shortest = step.step_time_s_low / step.step_time_s;
  added.longest = step.step_time_s_high / step.step_time_s;
  add_power(job, played.run, added);
  const auto stage_count = static_cast<double>(played.plan.roles.size());
  ERGOMETER_ASSIGN(const std::vector<double> packing_s,
                   gradient_packing_s(job, played, peers / stage_count));
  std::vector<StageWork> work;
  double flops = 0, seconds = 0;
  for (size_t role = 0; role < played.plan.roles.size(); ++role) {
    const StageSums sums = sums_of(played, role);
    work.push_back({sums.of(0), sums.of(1), sums.of(2) + packing_s[role]});
    flops += sums.flops;
    seconds += work.back().batch_s();
  }
  const double value_bytes = workload::shapes_of(job).element;
  const double tokens =
      static_cast<double>(job.training.micro_batch) * static_cast<double>(job.training.seq_length);
  std::vector<Width> rows =
      widths(static_cast<double>(job.model.layers.size()) / stage_count, tokens, flops / seconds,
             spec::wire_bytes(swarm.activations, value_bytes), rate_between(kind, kind));
  const auto ratio = [](const std::vector<Width>& of) {
    return of.front().compute_s / of.front().transfer_s;
  };
  if (swarm.widths.empty() || ratio(rows) < ratio(swarm.widths)) {
    swarm.widths = std::move(rows);
    swarm.widths_of = kind.name;
  }
  swarm.needs.push_back(needs_of(job, played));
  swarm.pipeline.kinds.push_back(kind);
  swarm.pipeline.work.push_back(std::move(work));
  swarm.kinds.push_back(std::move(added));
  return {};
}

}  // namespace

std::vector<Width> widths(double layers, double tokens, double flops_per_s, double value_bytes,
                          double bytes_per_s) {
  constexpr double kParametersALayer = 12, kFlopsEach = 6, kMessages = 2;
  std::vector<Width> rows;
  for (int64_t hidden = 1024; hidden <= 16384; hidden *= 2) {
    const auto h = static_cast<double>(hidden);
    rows.push_back({hidden, kFlopsEach * kParametersALayer * h * h * layers * tokens / flops_per_s,
                    kMessages * h * tokens * value_bytes / bytes_per_s});
  }
  return rows;
}

Result<Swarm> play_swarm(const spec::Settings& job, const std::vector<PeerKind>& kinds,
                         const PlayOptions& options) {
  Swarm swarm;
  const double peers = base::sum(kinds, &PeerKind::count);
  for (const PeerKind& kind : kinds) ERGOMETER_TRY(add_kind(job, kind, peers, swarm));
  ERGOMETER_ASSIGN(swarm.outcome, play(swarm.pipeline, options));
  for (size_t i = 0; i < kinds.size(); ++i) {
    KindPlayed& kind = swarm.kinds[i];
    kind.share = swarm.outcome.kinds[i];
    for (size_t stage = 0; stage < swarm.needs[i].size(); ++stage) {
      const int64_t held = swarm.outcome.most_held[i][stage];
      kind.fits = kind.fits && (held == 0 || swarm.needs[i][stage].fits(held));
    }
  }
  add_ranges(options, swarm);
  return swarm;
}

}  // namespace ergometer::swarm
