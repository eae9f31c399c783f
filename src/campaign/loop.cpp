#include "campaign/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/collection.h"
#include "campaign/ask.h"
#include "campaign/rollout.h"
#include "cost/cost.h"
#include "engine/power/run_phases.h"
#include "engine/simulate.h"
#include "spec/job/host_link.h"
#include "workload/parameters.h"
#include "workload/sequences.h"

namespace ergometer::campaign {
namespace {

using Assignment = std::pair<const char*, int64_t>;

constexpr int64_t kPrefillTokens = 8192;  // vLLM's max_num_batched_tokens with chunked prefill
constexpr int64_t kLengthUnit = 64;       // divides over tensor and context parallel ranks
constexpr double kWeightBytes = 2;        // weights travel in 16 bit

int64_t rounded_up(double length) {
  return static_cast<int64_t>(std::ceil(length / kLengthUnit)) * kLengthUnit;
}

std::vector<int64_t> responses_of(const LoopProgram& loop) {
  const auto count = static_cast<size_t>(loop.prompts * loop.samples);
  if (loop.response_length.is_even()) return std::vector(count, loop.max_response_length);
  std::vector<int64_t> lengths =
      workload::draw_lengths(loop.response_length, static_cast<uint64_t>(loop.seed), 0, count);
  for (int64_t& length : lengths) length = std::min(length, loop.max_response_length);
  return lengths;
}

/// A phase's error, with its place once: what it says itself of the loop's file, or else the
/// phase's line. "loop.yaml:7: phase actor: tp: found 3; ...".
std::string error_of_phase(const LoopProgram& loop, const LoopPhase& phase,
                           const std::string& message) {
  const std::string file = loop.file + ':';
  const size_t behind = message.starts_with(file)
                            ? message.find_first_not_of("0123456789", file.size())
                            : std::string::npos;
  const bool placed =
      behind != std::string::npos && behind > file.size() && message.compare(behind, 2, ": ") == 0;
  const std::string place =
      placed ? message.substr(0, behind) : fmt::format("{}{}", file, phase.line);
  return fmt::format("{}: phase {}: {}", place, phase.name,
                     placed ? message.substr(behind + 2) : message);
}

Result<spec::Job> job_of(const LoopProgram& loop, const LoopPhase& phase, const char* mode,
                         std::initializer_list<Assignment> sizes) {
  spec::Settings settings = phase.settings;
  if (mode != nullptr) settings.set("mode", mode, {"loop", ""});
  for (const auto& [name, value] : sizes) settings.set(name, std::to_string(value), {"loop", ""});
  auto job = spec::resolve(settings);
  if (job) return job;
  base::Error error = job.error();
  error.message = error_of_phase(loop, phase, error.message);
  return tl::unexpected(std::move(error));
}

/// Adds `times` steps of the job to the phase.
Result<void> add_steps(const spec::Job& job, double times, PlayedLoopPhase& phase) {
  engine::SimulateOptions options;
  options.kernels = options.intervals = false;
  ERGOMETER_ASSIGN(const run::Run run, engine::simulate(job, options));
  const spec::Training& t = job.training;
  const double step_s = run.performance.step_time_s;
  phase.parts.push_back({t.mode, t.micro_batch, t.global_batch, t.seq_length, times, step_s});
  phase.seconds += times * step_s;
  phase.low_s += times * run.performance.step_time_s_low;
  phase.high_s += times * run.performance.step_time_s_high;
  if (run.has_power) phase.energy_j += times * run.power.energy_j_per_step;
  const run::Memory& memory = run.memory;
  phase.peak_bytes = std::max(phase.peak_bytes, memory.peak_bytes);
  phase.capacity_bytes = memory.capacity_bytes;
  phase.weights_bytes = memory.weights_bytes;
  phase.gradients_bytes = memory.gradients_bytes;
  phase.optimizer_bytes = memory.optimizer_bytes;
  return {};
}

class LoopPlay {
 public:
  explicit LoopPlay(const LoopProgram& program) : responses_(responses_of(program)) {
    loop_.program = program;
    const double answered =
        static_cast<double>(std::accumulate(responses_.begin(), responses_.end(), int64_t{0}));
    loop_.mean_response = answered / static_cast<double>(responses_.size());
    loop_.longest_response = *std::ranges::max_element(responses_);
    loop_.tokens =
        answered + static_cast<double>(program.prompt_length + program.tokens_of_tools()) *
                       static_cast<double>(responses_.size());
  }

  Result<Loop> run() && {
    for (const LoopPhase& phase : loop_.program.phases) ERGOMETER_TRY(play(phase));
    ERGOMETER_TRY(add_pools());
    keep_resident();
    add_host_switches();
    ERGOMETER_TRY(add_weights());
    add_up();
    return std::move(loop_);
  }

 private:
  Result<void> play(const LoopPhase& asked) {
    PlayedLoopPhase phase;
    phase.name = asked.name;
    phase.pool = asked.pool;
    phase.does = asked.does;
    switch (asked.does) {
      case Does::kRollout: ERGOMETER_TRY(play_rollout(asked, phase)); break;
      case Does::kScore: ERGOMETER_TRY(play_score(asked, phase)); break;
      case Does::kTrain: ERGOMETER_TRY(play_train(asked, phase)); break;
    }
    loop_.phases.push_back(std::move(phase));
    return {};
  }

  /// Every replica answers as many prompts; the one whose answers take most steps is played.
  Result<void> play_rollout(const LoopPhase& asked, PlayedLoopPhase& phase) {
    const LoopProgram& loop = loop_.program;
    ERGOMETER_ASSIGN(const spec::Job first,
                     job_of(loop, asked, "prefill",
                            {{"micro_batch_size", 1}, {"seq_length", loop.prompt_length}}));
    const int64_t replicas = first.parallelism.dp;
    if (loop.prompts % replicas != 0)
      return input_error("{}:{}: phase {}: {} prompts are not divided by its {} replicas",
                         loop.file, asked.line, asked.name, loop.prompts, replicas);
    const int64_t prompts = loop.prompts / replicas, each = prompts * loop.samples;
    const int64_t slots = asked.max_num_seqs > 0 ? std::min(asked.max_num_seqs, each) : each;
    const std::span<const int64_t> slowest = slowest_replica(each, slots);
    for (const DecodeStretch& stretch :
         decode_stretches(slowest, slots,
                          static_cast<double>(loop.prompt_length) +
                              static_cast<double>(loop.tokens_of_tools()) / 2)) {
      const int64_t batch = std::max<int64_t>(1, std::llround(stretch.active));
      ERGOMETER_ASSIGN(phase.job, job_of(loop, asked, "decode",
                                         {{"micro_batch_size", batch},
                                          {"global_batch_size", batch * replicas},
                                          {"seq_length", std::llround(stretch.context)}}));
      const double before_s = phase.seconds;
      ERGOMETER_TRY(add_steps(phase.job, static_cast<double>(stretch.steps), phase));
      phase.steps += stretch.steps;
      if (stretch.tail) loop_.tail_s += phase.seconds - before_s;
    }
    wait_for_tools(phase);
    // Samples of a prompt share what is computed of it.
    ERGOMETER_TRY(add_prefill(asked, prompts, loop.prompt_length, replicas, phase));
    if (loop.tokens_of_tools() == 0) return {};
    return add_prefill(asked, each, loop.tokens_of_tools(), replicas, phase);
  }

  /// Other answers are decoded while one waits, but nothing hides what the last one waits for.
  void wait_for_tools(PlayedLoopPhase& phase) const {
    phase.tools_s = loop_.program.seconds_of_tools();
    for (double* const seconds : {&phase.seconds, &phase.low_s, &phase.high_s})
      *seconds += phase.tools_s;
  }

  Result<void> add_prefill(const LoopPhase& asked, int64_t prompts, int64_t length,
                           int64_t replicas, PlayedLoopPhase& phase) {
    int64_t batch = std::clamp<int64_t>(kPrefillTokens / length, 1, prompts);
    while (prompts % batch != 0) --batch;
    ERGOMETER_ASSIGN(const spec::Job job, job_of(loop_.program, asked, "prefill",
                                                 {{"micro_batch_size", batch},
                                                  {"global_batch_size", prompts * replicas},
                                                  {"seq_length", length}}));
    return add_steps(job, 1, phase);
  }

  std::span<const int64_t> slowest_replica(int64_t each, int64_t slots) const {
    std::span<const int64_t> slowest;
    int64_t most = -1;
    for (size_t at = 0; at < responses_.size(); at += static_cast<size_t>(each)) {
      const std::span replica(responses_.data() + at, static_cast<size_t>(each));
      if (const int64_t steps = decode_steps(replica, slots); steps > most) {
        most = steps;
        slowest = replica;
      }
    }
    return slowest;
  }

  int64_t sample_length() const {
    const LoopProgram& loop = loop_.program;
    return rounded_up(static_cast<double>(loop.prompt_length + loop.tokens_of_tools()) +
                      loop_.mean_response);
  }

  Result<void> play_score(const LoopPhase& asked, PlayedLoopPhase& phase) {
    ERGOMETER_ASSIGN(phase.job, job_of(loop_.program, asked, "prefill",
                                       {{"global_batch_size", std::ssize(responses_)},
                                        {"seq_length", sample_length()}}));
    phase.steps = 1;
    // Whoever scores keeps no cache of what was scored. A step of prefill keeps one of its whole
    // batch, so that answers pass in parts, large enough to fill the pipeline.
    constexpr int64_t kInFlight = 8;
    const int64_t answers = std::ssize(responses_), all = phase.job.micro_batches();
    const int64_t at_once =
        answers % all != 0 ? all : std::min(all, kInFlight * phase.job.parallelism.pp);
    ERGOMETER_ASSIGN(const spec::Job part, job_of(loop_.program, asked, "prefill",
                                                  {{"global_batch_size", answers / all * at_once},
                                                   {"seq_length", sample_length()}}));
    return add_steps(part, static_cast<double>(all) / static_cast<double>(at_once), phase);
  }

  Result<void> play_train(const LoopPhase& asked, PlayedLoopPhase& phase) {
    LoopPhase sized = asked;
    if (asked.settings.find("global_batch_size") == nullptr)
      sized.settings.set("global_batch_size", std::to_string(responses_.size()), {"loop", ""});
    ERGOMETER_ASSIGN(phase.job,
                     job_of(loop_.program, sized, nullptr, {{"seq_length", sample_length()}}));
    const int64_t batch = phase.job.training.global_batch;
    if (std::ssize(responses_) % batch != 0)
      return input_error("{}:{}: phase {}: {} samples are no whole updates of {}",
                         loop_.program.file, asked.line, asked.name, responses_.size(), batch);
    phase.steps = asked.ppo_epochs * std::ssize(responses_) / batch;
    return add_steps(phase.job, static_cast<double>(phase.steps), phase);
  }

  Result<void> add_pools() {
    for (size_t i = 0; i < loop_.phases.size(); ++i) {
      const PlayedLoopPhase& phase = loop_.phases[i];
      if (LoopPool* pool = pool_of(phase.pool)) {
        if (pool->gpus == phase.job.gpus) continue;
        return input_error("{}:{}: phase {} has {} GPUs; pool {} has {}", loop_.program.file,
                           loop_.program.phases[i].line, phase.name, phase.job.gpus, phase.pool,
                           pool->gpus);
      }
      loop_.pools.push_back({phase.pool, phase.job.gpus, 0, 0});
      if (phase.energy_j == 0) continue;  // nothing is known of its power
      ERGOMETER_ASSIGN(const engine::StandingPower standing, engine::standing_power(phase.job));
      loop_.pools.back().standing_w = standing.cluster_w;
    }
    const int64_t node = loop_.phases.front().job.cluster.node.gpus;
    for (const LoopPool& pool : loop_.pools)
      if (loop_.pools.size() > 1 && pool.gpus % node != 0)
        return input_error("{}: pool {}: {} GPUs are no whole nodes of {}", loop_.program.file,
                           pool.name, pool.gpus, node);
    return {};
  }

  LoopPool* pool_of(std::string_view name) {
    const auto found = std::ranges::find(loop_.pools, name, &LoopPool::name);
    return found == loop_.pools.end() ? nullptr : &*found;
  }

  /// A rollout's weights and cache are given back when it ends (vLLM's sleep).
  static double resident_bytes(const LoopPhase& asked, const PlayedLoopPhase& phase) {
    if (asked.does == Does::kRollout || !asked.weights_of.empty()) return 0;
    const double weights = asked.param_offload ? 0 : phase.weights_bytes;
    if (asked.does == Does::kScore) return weights;
    const double gradients = asked.grad_offload ? 0 : phase.gradients_bytes;
    return weights + gradients + (asked.optimizer_offload ? 0 : phase.optimizer_bytes);
  }

  void keep_resident() {
    for (size_t i = 0; i < loop_.phases.size(); ++i)
      loop_.phases[i].resident_bytes = resident_bytes(loop_.program.phases[i], loop_.phases[i]);
    for (PlayedLoopPhase& phase : loop_.phases)
      for (const PlayedLoopPhase& other : loop_.phases)
        if (&other != &phase && other.pool == phase.pool)
          phase.beside_bytes += other.resident_bytes;
    // Weights of a trained phase that another runs are there once.
    for (size_t i = 0; i < loop_.phases.size(); ++i)
      if (const LoopPhase* owner = owner_of(i); owner != nullptr && !owner->param_offload)
        loop_.phases[i].beside_bytes -=
            std::min(loop_.phases[i].weights_bytes, played(*owner).weights_bytes);
  }

  /// The phase whose weights phase `i` runs; null: its own.
  const LoopPhase* owner_of(size_t i) const {
    const std::vector<LoopPhase>& asked = loop_.program.phases;
    if (asked[i].weights_of.empty()) return nullptr;
    return &*std::ranges::find(asked, asked[i].weights_of, &LoopPhase::name);
  }
  const PlayedLoopPhase& played(const LoopPhase& asked) const {
    return loop_.phases[static_cast<size_t>(&asked - loop_.program.phases.data())];
  }

  /// What is not resident is fetched from the host, and of the trained model brought back;
  /// gradients begin anew.
  void add_host_switches() {
    for (size_t i = 0; i < loop_.phases.size(); ++i) {
      const LoopPhase& asked = loop_.program.phases[i];
      const PlayedLoopPhase& phase = loop_.phases[i];
      if (std::ranges::count(loop_.phases, phase.pool, &PlayedLoopPhase::pool) < 2) continue;
      const LoopPhase* const owner = owner_of(i);
      const bool fetched = asked.param_offload || (owner != nullptr && owner->param_offload);
      const double bytes = (fetched ? phase.weights_bytes : 0) +
                           (asked.optimizer_offload ? phase.optimizer_bytes : 0);
      if (bytes == 0) continue;
      const double rate = loop_.program.host_bytes_per_s > 0
                              ? loop_.program.host_bytes_per_s
                              : spec::host_bytes_per_s(phase.job.cluster.node);
      const double seconds = bytes / rate;
      const auto add = [&](const char* where) {
        loop_.switches.push_back({.what = phase.name + where,
                                  .pool = phase.pool,
                                  .other_pool = {},
                                  .bytes = bytes,
                                  .seconds = seconds,
                                  .phase = phase.name});
      };
      add(" from the host");
      if (asked.does == Does::kTrain) add(" to the host");
    }
  }

  const PlayedLoopPhase& rollout() const {
    return *std::ranges::find(loop_.phases, Does::kRollout, &PlayedLoopPhase::does);
  }
  /// The phase whose weights become the rollout's.
  const PlayedLoopPhase& policy() const {
    return played(*std::ranges::find_if(loop_.program.phases, [](const LoopPhase& phase) {
      return phase.does == Does::kTrain && phase.feeds_rollout;
    }));
  }

  /// Ranks that hold a part each of the trained weights.
  static int64_t shards_of(const spec::Job& job) {
    const spec::Parallelism& p = job.parallelism;
    if (p.fsdp)
      return p.pp * (p.fsdp_shard_size > 0 ? p.tp * p.fsdp_shard_size : job.stage_ranks());
    return p.tp * p.pp * p.ep;
  }

  /// Trained weights become the rollout's: gathered by all that hold a part, tensor by tensor, each
  /// rank taking what its layout needs (verl); sent on to another pool by one of them (a broadcast,
  /// as OpenRLHF's), as fast as its network card.
  Result<void> add_weights() {
    const PlayedLoopPhase &from = policy(), &to = rollout();
    spec::Job job = from.job;
    const int64_t shards = shards_of(job), domain = std::max<int64_t>(1, job.cluster.domain_gpus);
    job.gpus = loop_.gpus();  // whose network is between the pools
    ERGOMETER_ASSIGN(const cost::CostModel model, cost::CostModel::make(job));
    const double bytes =
        kWeightBytes * static_cast<double>(workload::count_parameters(job.model).total);
    const auto add = [&](std::string what, workload::CollectiveKind kind, int64_t ranks,
                         int64_t domains, double nic_bytes_per_s, const std::string& other) {
      workload::Operator op;
      op.kind = workload::OperatorKind::kCollective;
      op.collective = kind;
      op.comm_bytes = bytes;
      const plan::GroupPlacement where{.size = ranks,
                                       .nodes = domains,
                                       .ranks_per_node = std::max<int64_t>(1, ranks / domains),
                                       .nic_bytes_per_s = domains > 1 ? nic_bytes_per_s : 0,
                                       .tiers = domains > 1 ? 1 : 0};
      loop_.switches.push_back({.what = std::move(what),
                                .pool = from.pool,
                                .other_pool = other,
                                .bytes = bytes,
                                .seconds = model.price(op, where).seconds(),
                                .phase = from.name,
                                .ranks = ranks,
                                .domains = domains});
    };
    // All replicas of the trained model gather at once; one GPU alone sends.
    const std::vector<spec::Nic>& nics = job.cluster.node.nics;
    const double all_nics = base::sum(nics, &spec::Nic::bytes_per_s);
    const int64_t domains = (shards + domain - 1) / domain;
    if (shards > 1)
      add(fmt::format("weights of {} gathered from {} GPUs", from.name, shards),
          workload::CollectiveKind::kAllGather, shards, domains,
          all_nics * static_cast<double>(shards / domains) /
              static_cast<double>(job.cluster.node.gpus),
          "");
    if (from.pool != to.pool)
      add(fmt::format("weights sent to {}", to.name), workload::CollectiveKind::kSendRecv, 2,
          loop_.gpus() > domain ? 2 : 1, nics.empty() ? 0 : nics.front().bytes_per_s, to.pool);
    return {};
  }

  void add_up() {
    double low_s = 0, high_s = 0, played_j = 0, standing_j = 0;
    std::vector<double> low_busy_s(loop_.pools.size()), high_busy_s(loop_.pools.size());
    const auto take = [&](const std::string& pool, double seconds, double low, double high) {
      LoopPool* const it = pool_of(pool);
      const auto at = static_cast<size_t>(it - loop_.pools.data());
      it->busy_s += seconds;
      low_busy_s[at] += low;
      high_busy_s[at] += high;
    };
    for (const PlayedLoopPhase& phase : loop_.phases) {
      take(phase.pool, phase.seconds, phase.low_s, phase.high_s);
      loop_.latency_s += phase.seconds;
      low_s += phase.low_s;
      high_s += phase.high_s;
      played_j += phase.energy_j;
      standing_j -= pool_of(phase.pool)->standing_w * (phase.seconds - phase.tools_s);
    }
    for (const LoopSwitch& one : loop_.switches) {
      for (const std::string& pool : {one.pool, one.other_pool})
        if (!pool.empty()) take(pool, one.seconds, one.seconds, one.seconds);
      loop_.latency_s += one.seconds;
      low_s += one.seconds;
      high_s += one.seconds;
    }
    const int64_t stale = loop_.program.staleness;
    double busiest_s = 0;
    for (const LoopPool& pool : loop_.pools) busiest_s = std::max(busiest_s, pool.busy_s);
    loop_.iteration_s = iteration_time(loop_.latency_s, busiest_s, stale);
    loop_.low_s = iteration_time(low_s, *std::ranges::max_element(low_busy_s), stale);
    loop_.high_s = iteration_time(high_s, *std::ranges::max_element(high_busy_s), stale);
    loop_.has_power = std::ranges::all_of(
        loop_.phases, [](const PlayedLoopPhase& phase) { return phase.energy_j > 0; });
    for (const LoopPool& pool : loop_.pools) standing_j += pool.standing_w * loop_.iteration_s;
    if (loop_.has_power) loop_.energy_j = played_j + standing_j;
  }

  std::vector<int64_t> responses_;
  Loop loop_;
};

}  // namespace

int64_t Loop::gpus() const {
  int64_t gpus = 0;
  for (const LoopPool& pool : pools) gpus += pool.gpus;
  return gpus;
}

double Loop::gpu_hours() const { return static_cast<double>(gpus()) * iteration_s / kHourS; }

bool Loop::fits() const { return std::ranges::all_of(phases, &PlayedLoopPhase::fits); }

double iteration_time(double latency_s, double busiest_s, int64_t staleness) {
  return std::max(busiest_s, latency_s / static_cast<double>(1 + staleness));
}

Result<Loop> play_loop(const LoopProgram& program) { return LoopPlay(program).run(); }

}  // namespace ergometer::campaign
