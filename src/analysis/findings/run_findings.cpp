#include "analysis/findings/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "analysis/findings/job_findings.h"
#include "analysis/findings/run_advice.h"
#include "analysis/telemetry/throttling.h"
#include "base/collection.h"
#include "base/text.h"
#include "run/event_reasons.h"

namespace ergometer::analysis {
namespace {

using run::JobSettings;

constexpr const char *kLayout = "parallelism", *kTraining = "training";

bool has_tensor_groups(const JobSettings& job) { return job.number(kLayout, "tp", 2) > 1; }
bool has_replicas(const JobSettings& job) { return job.number(kLayout, "dp", 2) > 1; }
bool has_stages(const JobSettings& job) { return job.number(kLayout, "pp", 2) > 1; }
/// Whether tokens leave the network that the GPUs of a node, or of a rack, share.
bool experts_leave_domain(const JobSettings& job) {
  const double ranks = job.number(kLayout, "ep", 2) * job.number(kLayout, "etp", 1);
  return ranks > job.number("cluster", "domain_gpus", 1);
}
bool always(const JobSettings&) { return true; }

constexpr Advice kSmallerTensorGroup{"a smaller tensor-parallel group", has_tensor_groups};
constexpr Advice kTensorOverlap{"--tp-comm-overlap", [](const JobSettings& job) {
                                  return has_tensor_groups(job) &&
                                         !job.on(kTraining, "tp_comm_overlap", false);
                                }};
constexpr Advice kSequenceParallelism{"sequence parallelism", [](const JobSettings& job) {
                                        return has_tensor_groups(job) &&
                                               !job.on(kLayout, "sequence_parallel", false);
                                      }};
constexpr Advice kGradientsBeside{
    "gradients reduced beside the backward (--overlap-grad-reduce)", [](const JobSettings& job) {
      return has_replicas(job) && !job.on(kTraining, "overlap_grad_reduce", false);
    }};
constexpr Advice kWeightsBeside{
    "weights gathered beside the forward (--overlap-param-gather)", [](const JobSettings& job) {
      return has_replicas(job) && !job.on(kTraining, "overlap_param_gather", false);
    }};

constexpr std::array kOfAllReduce = {kSmallerTensorGroup, kSequenceParallelism, kGradientsBeside};
constexpr std::array kOfAllGather = {kSmallerTensorGroup, kTensorOverlap, kWeightsBeside};
constexpr std::array kOfReduceScatter = {kSmallerTensorGroup, kTensorOverlap, kGradientsBeside};
constexpr std::array kOfAllToAll = std::to_array<Advice>(
    {{"an expert-parallel group inside the node", experts_leave_domain},
     {"another dispatcher (--moe-token-dispatcher-type flex)",
      [](const JobSettings& job) { return job.text(kTraining, "moe_dispatcher") != "flex"; }},
     {"two micro batches beside each other (--overlap-moe-expert-parallel-comm)",
      [](const JobSettings& job) {
        return !job.on(kTraining, "overlap_expert_parallel", false);
      }}});
constexpr std::array kOfMessages = std::to_array<Advice>(
    {{"--overlap-p2p",
      [](const JobSettings& job) { return !job.on(kTraining, "overlap_p2p", false); }},
     {"fewer stages", has_stages},
     {"a larger micro batch", always}});
constexpr std::array kOfOptimizer =
    std::to_array<Advice>({{"states sharded over data parallelism (--zero 1)",
                            [](const JobSettings& job) {
                              return has_replicas(job) && job.number(kLayout, "zero", 0) == 0 &&
                                     !job.on(kLayout, "fsdp", false);
                            }},
                           {"a larger global batch", always}});
constexpr std::array kOfUnevenExperts =
    std::to_array<Advice>({{"a balancing loss or bias in the router", always},
                           {"hot experts apart from each other (--moe-expert-placement by-load)",
                            [](const JobSettings& job) {
                              return job.text(kTraining, "moe_expert_placement") != "by-load";
                            }},
                           {"fewer ranks in an expert-parallel group", always}});

/// What is left where a collective is overlapped already and over no group that could be smaller:
/// its ranks come at different times.
constexpr const char* kEqualRanks =
    "equal work and equal clocks on all its ranks: what is left is waiting for the last of them";

struct Cause {
  double run::Breakdown::* part;
  const char *name, *what;
  std::span<const Advice> advice;
  const char* check;
  /// Of the Run's energy by collective: what its rows end with; null: the row of the same name.
  const char* kind = nullptr;
};

constexpr std::array kCauses = std::to_array<Cause>({
    {&run::Breakdown::exposed_all_reduce, "exposed_all_reduce",
     "All-reduces that nothing hides take {} of a step ({}), mean over ranks.", kOfAllReduce,
     "performance.breakdown_s.exposed_all_reduce", " all_reduce"},
    {&run::Breakdown::exposed_all_gather, "exposed_all_gather",
     "All-gathers that nothing hides take {} of a step ({}), mean over ranks.", kOfAllGather,
     "performance.breakdown_s.exposed_all_gather", " all_gather"},
    {&run::Breakdown::exposed_reduce_scatter, "exposed_reduce_scatter",
     "Reduce-scatters that nothing hides take {} of a step ({}), mean over ranks.",
     kOfReduceScatter, "performance.breakdown_s.exposed_reduce_scatter", " reduce_scatter"},
    {&run::Breakdown::exposed_all_to_all, "exposed_all_to_all",
     "All-to-alls that nothing hides take {} of a step ({}), mean over ranks.", kOfAllToAll,
     "performance.breakdown_s.exposed_all_to_all", " all_to_all"},
    {&run::Breakdown::exposed_send_recv, "exposed_send_recv",
     "Messages between pipeline stages that nothing hides take {} of a step ({}), mean over ranks.",
     kOfMessages, "performance.breakdown_s.exposed_send_recv", " send_recv"},
    {&run::Breakdown::optimizer, "optimizer",
     "The optimizer takes {} of a step ({}), mean over ranks.", kOfOptimizer,
     "performance.breakdown_s.optimizer"},
});

/// Joules that all GPUs draw in a step for rows of one dimension, where the Run says so.
class Drawn {
 public:
  explicit Drawn(const run::Run& run) : run_(run) {}

  std::optional<double> of(std::string_view dimension, std::string_view name) const {
    return sum(
        dimension, [&](const run::EnergyRow& row) { return row.name == name; },
        [](const run::EnergyRow& row) { return row.joules; });
  }
  /// What GPUs draw all the time, while they wait for collectives of a kind; the collectives' own
  /// work would be done beside compute too.
  std::optional<double> waiting_for(std::string_view kind) const {
    return sum(
        "collective", [&](const run::EnergyRow& row) { return row.name.ends_with(kind); },
        [](const run::EnergyRow& row) { return row.joules - row.work_joules; });
  }
  double seconds(std::string_view dimension, std::string_view name) const {
    return sum(
               dimension, [&](const run::EnergyRow& row) { return row.name == name; },
               [](const run::EnergyRow& row) { return row.seconds; })
        .value_or(0);
  }

 private:
  template <class Is, class Get>
  std::optional<double> sum(std::string_view dimension, Is is, Get get) const {
    std::optional<double> all;
    for (const run::EnergyRow& row : run_.power.step_energy)
      if (row.dimension == dimension && is(row)) all = all.value_or(0) + get(row);
    return all;
  }
  const run::Run& run_;
};

/// A cost in seconds of every step.
Finding predicted(const run::Run& run, std::string name, double cost_s,
                  std::optional<double> cost_j) {
  Finding f;
  f.name = std::move(name);
  f.cost_s = cost_s;
  f.step_s = cost_s;
  f.step_j = cost_j;
  f.fraction = run.performance.step_time_s > 0 ? cost_s / run.performance.step_time_s : 0;
  f.confidence = "predicted";
  return f;
}

std::string share(const Finding& f) {
  return fmt::format("{} of a step ({})", base::format_percent(f.fraction),
                     base::format_seconds(f.cost_s));
}

Finding part_of_breakdown(const run::Run& run, const JobSettings& job, const Drawn& drawn,
                          const Cause& cause) {
  Finding f =
      predicted(run, cause.name, run.performance.breakdown_s.*cause.part,
                cause.kind ? drawn.waiting_for(cause.kind) : drawn.of("collective", cause.name));
  f.what = fmt::format(fmt::runtime(cause.what), base::format_seconds(f.cost_s),
                       base::format_percent(f.fraction));
  f.try_next = advice_for_job(cause.advice, job, kEqualRanks);
  f.check = fmt::format("ergometer simulate MODEL --cluster CLUSTER --explain {}", cause.check);
  return f;
}

/// A part of the step's idle time takes as large a part of its joules.
std::optional<double> idle_j(const run::Run& run, const Drawn& drawn, double seconds) {
  const double all_s = run.performance.breakdown_s.idle;
  const std::optional<double> all_j = drawn.of("collective", "idle");
  if (!all_j || all_s <= 0) return std::nullopt;
  return *all_j * seconds / all_s;
}

double bubble_s(const run::Run& run) {
  return run.performance.pipeline_bubble_fraction * run.performance.step_time_s;
}

Finding pipeline_bubble(const run::Run& run, const Drawn& drawn) {
  Finding f = predicted(run, "pipeline_bubble", bubble_s(run), idle_j(run, drawn, bubble_s(run)));
  f.what = fmt::format("Stages of the pipeline wait for each other {}, mean over ranks.", share(f));
  advise_on_bubble(f);
  return f;
}

Finding late_launch(const run::Run& run, const Drawn& drawn) {
  const double idle_s = std::max(0.0, run.performance.breakdown_s.idle - bubble_s(run));
  Finding f = predicted(run, "late_launch", idle_s, idle_j(run, drawn, idle_s));
  f.what = fmt::format(
      "GPUs stand still {} for the host, which has not launched the next kernel yet, and at the "
      "end of the step; mean over ranks.",
      share(f));
  f.try_next = "CUDA graphs (--cuda-graphs); a larger micro batch: fewer and longer kernels.";
  f.check = "ergometer simulate MODEL --cluster CLUSTER --explain performance.breakdown_s.idle";
  return f;
}

Finding recomputation(const run::Run& run, const Drawn& drawn) {
  Finding f = predicted(run, "recomputation", drawn.seconds("phase", "recompute"),
                        drawn.of("phase", "recompute"));
  f.what = fmt::format("Activation checkpointing repeats forward work for {}, mean over ranks.",
                       share(f));
  advise_on_recomputation(f);
  return f;
}

/// The row of even routing; null: nothing is uneven.
const run::ExpertRow* even_routing(const run::Run& run) {
  const auto found = std::ranges::find_if(
      run.experts, [](const auto& row) { return row.setting == "--moe-routing even"; });
  return found == run.experts.end() ? nullptr : &*found;
}

Finding uneven_experts(const run::Run& run, const JobSettings& job, const run::ExpertRow& even) {
  const run::ExpertRow& played = run.experts.front();
  Finding f = predicted(run, "uneven_experts", played.step_time_s - even.step_time_s, std::nullopt);
  f.what = fmt::format(
      "Ranks wait for those whose experts get more tokens: the fullest of a layer has {:.2f} times "
      "an even share, mean over layers. With even routing a step would take {} less.",
      played.mean_load, base::format_seconds(f.cost_s));
  f.try_next = advice_for_job(kOfUnevenExperts, job, "");
  f.check = "ergometer simulate MODEL --cluster CLUSTER --moe-routing even";
  return f;
}

/// Beside the same work in equal parts, the second row.
Finding uneven_sequences(const run::Run& run) {
  const run::SequenceRow &played = run.sequences[0], &evenly = run.sequences[1];
  Finding f = predicted(run, "sequence_length_imbalance", played.step_time_s - evenly.step_time_s,
                        std::nullopt);
  f.what = fmt::format(
      "Ranks wait for those whose documents are more work, {} of a step, mean over them: the "
      "replica with most has {:.2f} times the mean. With micro batches of equal work a step would "
      "take {} less.",
      base::format_percent(played.waiting_fraction), played.slowest_load,
      base::format_seconds(f.cost_s));
  const bool is_balanced = std::ranges::none_of(run.sequences, [](const auto& row) {
    return row.setting == "--sequence-order length-balanced";
  });
  if (is_balanced) {
    f.try_next = "more micro batches a replica, among which lengths even out; fewer replicas.";
    f.check = "ergometer simulate MODEL --cluster CLUSTER --mbs 1";
    return f;
  }
  f.try_next =
      "micro batches that run at a time of documents that cost alike (--sequence-order "
      "length-balanced), over replicas too; fewer replicas.";
  f.check = "ergometer simulate MODEL --cluster CLUSTER --sequence-order length-balanced";
  return f;
}

/// NVML's reason for a clock that the user locked.
constexpr std::string_view kAskedFor = "applications_clocks_setting";

/// A cap that nobody asked for is the most that the board takes.
constexpr ReasonAdvice kAtTheBoardsLimit{
    "sw_power_cap",
    "accept it: this is the board's own limit, and work per joule is better below it; cooler GPUs "
    "leak less.",
    "ergometer simulate MODEL --cluster CLUSTER --inlet-c 20"};

/// What a reason costs: clock that it takes, times the time that it holds. Where several hold at
/// once a cap is what holds, for it is told of only where it is below what heat allows, and a brake
/// holds before both.
constexpr std::array<std::string_view, 4> kHoldsFirst = {
    "hw_power_brake_slowdown", "sw_power_cap", "hw_thermal_slowdown", "sw_thermal_slowdown"};

int64_t bit_of(std::string_view reason) {
  for (const run::EventReasonName& it : run::kEventReasons)
    if (it.name == reason) return it.bit;
  return 0;
}

struct LostClock {
  double mhz = 0, readings = 0;
  double mean() const { return readings > 0 ? mhz / readings : 0; }
};

/// By telemetry the clock that each reason takes while it holds, below the highest that the GPU of
/// the rank shows, or, of a rank that is always held, any.
std::map<std::string_view, LostClock> lost_clocks(const run::Run& run) {
  std::map<int64_t, double> free_mhz;
  double any_mhz = 0;
  for (const run::Telemetry& row : run.telemetry) {
    any_mhz = std::max(any_mhz, row.sm_clock_mhz);
    if ((row.event_reasons & ~int64_t{1}) == 0)
      free_mhz[row.rank] = std::max(free_mhz[row.rank], row.sm_clock_mhz);
  }
  constexpr double kSomeMhz = 1;  // who is held all the time at one clock is seen at no other
  std::map<std::string_view, LostClock> lost;
  for (const run::Telemetry& row : run.telemetry)
    for (const std::string_view reason : kHoldsFirst)
      if ((row.event_reasons & bit_of(reason)) != 0) {
        const double free = base::value_or(free_mhz, row.rank, any_mhz);
        lost[reason].mhz += std::max(0.0, free - row.sm_clock_mhz) + kSomeMhz;
        lost[reason].readings += 1;
        break;
      }
  return lost;
}

/// The reason that costs most clock; where telemetry, which may be of few ranks, does not show all
/// of them, the one that holds longest. Null: none holds.
const run::EventShare* main_reason(const run::Run& run) {
  const std::map<std::string_view, LostClock> lost = lost_clocks(run);
  const bool all_seen = std::ranges::all_of(run.thermal.event_shares, [&](const auto& share) {
    return share.reason == kAskedFor || share.fraction <= 0 || lost.contains(share.reason);
  });
  const auto weight = [&](const run::EventShare& share) {
    return share.fraction *
           (all_seen ? base::value_or(lost, share.reason, LostClock{}).mean() : 1.0);
  };
  const run::EventShare* most = nullptr;
  for (const run::EventShare& share : run.thermal.event_shares)
    if (share.reason != kAskedFor && (most == nullptr || weight(share) > weight(*most)))
      most = &share;
  return most;
}

/// The cap that the user set: what it costs is his to weigh.
void advise_on_own_cap(double cap_w, const run::Run& run, Finding& f) {
  f.what = fmt::format(
      "The power cap of {:.0f} W that this job sets holds GPUs below the clock asked for {} of the "
      "time, at {:.0f} MHz in the mean. At the clock asked for a step would take {} less.",
      cap_w, base::format_percent(run.thermal.throttled_time_fraction), run.thermal.mean_clock_mhz,
      base::format_seconds(f.cost_s));
  f.try_next = fmt::format(
      "raise the cap: up to {} ({}) of a step, at more power; keep it where work per joule counts "
      "more than time.",
      base::format_seconds(f.cost_s), base::format_percent(f.fraction));
  f.check = "ergometer simulate MODEL --cluster CLUSTER --power-cap W";
}

Finding throttling(const run::Run& run, const JobSettings& job) {
  const run::Thermal& thermal = run.thermal;
  Finding f = predicted(run, "throttling", thermal.throttling_cost_s, std::nullopt);
  const run::EventShare* most = main_reason(run);
  if (most == nullptr) return f;
  const bool by_cap = most->reason == kAtTheBoardsLimit.reason;
  const double cap_w = job.number("conditions", "power_cap_w", 0);
  const bool of_cluster = job.number("conditions", "cluster_cap_w", 0) > 0;
  const bool of_one_gpu = run.job_json.find("power_cap=") != std::string::npos;  // an override
  const bool is_limit = job.on("conditions", "power_cap_is_board_limit", false);
  if (by_cap && cap_w > 0 && !is_limit && !of_cluster && !of_one_gpu) {
    advise_on_own_cap(cap_w, run, f);
    return f;
  }
  f.what = fmt::format(
      "GPUs are held below the clock asked for {} of the time, most of all by {}. Without that a "
      "step would take {} less.",
      base::format_percent(thermal.throttled_time_fraction), most->reason,
      base::format_seconds(f.cost_s));
  const bool at_boards_limit = by_cap && !run.job_json.empty() && !of_cluster && !of_one_gpu;
  const ReasonAdvice& advice = at_boards_limit ? kAtTheBoardsLimit : advice_for(most->reason);
  f.try_next = advice.try_next;
  f.check = advice.check;
  return f;
}

Finding straggler(const run::Run& run) {
  Finding f = predicted(run, "straggler", run.thermal.straggler_cost_s, std::nullopt);
  const auto slowest = std::ranges::min_element(
      run.ranks, [](const auto& a, const auto& b) { return a.mean_clock_mhz < b.mean_clock_mhz; });
  if (slowest == run.ranks.end()) return f;
  f.what = fmt::format(
      "Ranks wait for those with slower GPUs, the slowest rank {} (node {}, slot {}) at {:.0f} MHz "
      "beside a mean of {:.0f}. If none were slower than half of them, a step would take {} less.",
      slowest->rank, slowest->node, slowest->slot, slowest->mean_clock_mhz,
      run.thermal.mean_clock_mhz, base::format_seconds(f.cost_s));
  f.try_next =
      "its cooling, power limit and place: a rank map that gives slow GPUs the stages that wait "
      "anyway.";
  f.check = "ergometer optimize MODEL --cluster CLUSTER";
  return f;
}

/// The check with the job's own words, where the Run tells by which it was asked for.
std::string of_this_job(std::string check, const run::Run& run) {
  constexpr std::string_view kSimulate = "ergometer simulate ", kJob = "MODEL --cluster CLUSTER";
  const auto command = run.facts.find(run::kCommandFact);
  const size_t at = check.find(kJob);
  if (command == run.facts.end() || at == check.npos) return check;
  return check.replace(at, kJob.size(), command->second.substr(kSimulate.size()));
}

}  // namespace

std::vector<Finding> run_findings(const run::Run& run) {
  const Drawn drawn(run);
  const JobSettings job(run);
  std::vector<Finding> findings = base::mapped(
      kCauses, [&](const Cause& cause) { return part_of_breakdown(run, job, drawn, cause); });
  findings.push_back(pipeline_bubble(run, drawn));
  findings.push_back(late_launch(run, drawn));
  findings.push_back(recomputation(run, drawn));
  if (const run::ExpertRow* even = even_routing(run))
    findings.push_back(uneven_experts(run, job, *even));
  if (run.sequences.size() > 1) findings.push_back(uneven_sequences(run));
  if (run.has_power) {
    findings.push_back(throttling(run, job));
    findings.push_back(straggler(run));
  }
  std::erase_if(findings, [](const Finding& f) { return f.fraction < kWorthTelling; });
  std::ranges::stable_sort(findings, std::ranges::greater{}, &Finding::cost_s);
  for (Finding& f : findings) f.check = of_this_job(std::move(f.check), run);
  return findings;
}

}  // namespace ergometer::analysis
