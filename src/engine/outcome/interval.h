#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/time/timeline.h"
#include "run/run.h"
#include "spec/job/job.h"

namespace ergometer::engine {

/// 90 % of a standard normal variable lie within +- this.
inline constexpr double kNormal90 = 1.6448536269514722;

/// What makes two runs alike for the purpose of trusting a prediction.
struct EvidenceKey {
  std::string gpu;           ///< "H100-SXM5-80GB"
  std::string architecture;  ///< "hopper"
  std::string software;      ///< "megatron-core-25"
  std::string precision;     ///< "bf16", "fp8", "mxfp8", ...
  std::string kind;  ///< "dense", "moe", "hybrid"; with a vision tower, FSDP, LoRA or inference
                     ///< named behind
  bool several_nodes = false;

  auto operator<=>(const EvidenceKey&) const = default;
};

EvidenceKey evidence_key(const spec::Job& job);

/// How many measured runs of one kind the catalog was calibrated on. A group is a series of runs of
/// one model, GPU and precision.
struct Evidence {
  EvidenceKey key;
  int64_t groups = 0, rows = 0, most_gpus = 0;
};

/// Whether runs of the job's software were seen, and on more than one GPU where the job has more:
/// what a run on one GPU tells of its kernels and launches it does not tell of its collectives.
enum class SoftwareSeen : uint8_t { kNo, kOnOneGpu, kYes };
SoftwareSeen software_seen(const spec::Job& job, const std::vector<Evidence>& evidence);

/// `catalog/tables/evidence.csv`, with the columns gpu, architecture, software, precision, kind,
/// nodes ("one" or "several"), groups, rows, most_gpus.
Result<std::vector<Evidence>> parse_evidence(std::string_view csv, const std::string& file);
std::string evidence_csv(const std::vector<Evidence>& evidence);

/// Standard deviations of ln(measured / predicted), each for one reason to be unsure.
struct Uncertainty {
  double base = 0;                ///< runs like those it was calibrated on
  double gpu_unseen = 0;          ///< no run on this GPU
  double gpu_few = 0;             ///< one group on this GPU; n groups: over the square root of n
  double nodes_unseen = 0;        ///< several nodes, and no run of several nodes on this GPU
  double precision_unseen = 0;    ///< no run of this precision on the GPU's architecture
  double software_unseen = 0;     ///< no run of this software profile (`software_seen`)
  double software_unnamed = 0;    ///< nobody named the software: installations differ
  double kind_unseen = 0;         ///< no run of this kind of job
  double micro_batch_unsaid = 0;  ///< nobody said the micro batch, and one sequence is assumed
  double per_doubling = 0;        ///< each doubling of GPUs beyond the largest run on this GPU
  double host = 0;                ///< a step that only waits for the host; in proportion
  double communication = 0;       ///< a step that only waits for communication; in proportion
  double measured_cluster = 0;  ///< how much of the scatter of kernels inside their classes, which
                                ///< a recording shows, other jobs are off by; no deviation itself
  // Of power (`power_interval`).
  double power_work = 0;       ///< of what the cores' work draws, one factor for all of it
  double power_work_seen = 0;  ///< the same on a GPU whose power was measured
  double power_beside = 0;     ///< of what a node draws beside its GPUs, one factor for all of it
  double power_board = 0;      ///< of what a GPU draws, at its limit too
  double power_step = 0;       ///< by how much less its work draws in a longer step, over how much
                               ///< longer it is; no deviation itself
  // Of memory, not of time (`memory_fit`).
  double memory_base = 0;             ///< any job
  double memory_activations = 0;      ///< one of activations and reserve alone; in proportion
  double memory_software_unseen = 0;  ///< no run of this software profile
};

/// `catalog/tables/uncertainty.csv`, with the columns term, value, source, grade; each term once.
Result<Uncertainty> parse_uncertainty(std::string_view csv, const std::string& file);

/// The 90 % interval of a prediction's step time and why it is as wide as it is.
///
/// ln(measured / predicted) is taken as normal around 0 with
///   sigma^2 = base^2 + sum over the terms that apply of term^2,
/// so that low = t exp(-1.645 sigma) and high = t exp(1.645 sigma).
/// On a cluster that a recording tells of (`Cluster::measured`) the terms of the GPU, the nodes,
/// the host and communication give way to what the recording leaves open of the model's form and of
/// the cluster's factors (`form`, `step_deviation`); software, precision and kind are held to the
/// job that was recorded. Each doubling of its nodes adds 31 % of the software's `scale.jitter`.
/// Worked: t = 10 s, base 0.05, an unseen GPU 0.12: sigma = 0.13, low = 8.07 s, high = 12.38 s.
struct Interval {
  double sigma = 0;
  double low_s = 0, high_s = 0;
  std::vector<std::string> reasons;  ///< one a term that applies, a sentence part
};

/// `host_share`: of the step, that the compute stream waits for the host to launch.
Interval step_time_interval(const spec::Job& job, const run::Performance& performance,
                            double host_share, const std::vector<Evidence>& evidence,
                            const Uncertainty& uncertainty);
/// The same with the catalog's tables, written into the performance it is about.
void add_interval(run::Performance& performance, const spec::Job& job, const Timeline& timeline);
/// Widens it by what else moves the step, independent of all that is in it: `spread` is the 90 %
/// interval of the step over the one predicted. In logarithms, each end goes as far out as the root
/// of the sum of both squares.
void widen(const run::Interval& spread, std::string_view why, run::Performance& performance);
/// How far a step goes whose copies of activations to the host and back take `one_way_s` each,
/// where the link is half or twice as fast: they hide behind a forward of a third of `compute_s`
/// and a backward of the rest, and what does not hide is waited for.
/// Worked: 6 s of compute in a step of 10. 1.9 s each way hide; twice as long, 1.8 s of the way out
/// show: 1 to 1.18. 3 s each way show 1 s, half as long nothing, twice as long 4 + 2 s: of a step
/// of 11 s, 10 / 11 to 16 / 11.
run::Interval host_copies_spread(double one_way_s, double compute_s, double step_s);
/// The same of an optimizer on the host, nothing of which hides. Worked: 2 s of 10: 0.9 to 1.2.
run::Interval host_optimizer_spread(double optimizer_s, double step_s);
/// The same where connections between far nodes lose packets: they may pass on half or twice as
/// much together as assumed, `connections`, and a line no more than it has, bytes/s. What of the
/// step waits for communication, `exposed_s`, is as much longer or shorter. Worked: connections of
/// 50 on a line of 100, 6 s of a step of 10: 0.7 to 1.6; of 150: 1 to 1.2.
run::Interval lossy_network_spread(double connections, double line, double exposed_s,
                                   double step_s);
/// The same where these runs were seen instead of the catalog's.
void add_interval(run::Performance& performance, const spec::Job& job, const Timeline& timeline,
                  const std::vector<Evidence>& evidence);

}  // namespace ergometer::engine
