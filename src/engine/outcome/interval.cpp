#include "engine/outcome/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cost/lossy_tcp.h"
#include "engine/outcome/evidence_tables.h"
#include "spec/catalog/read.h"
#include "spec/job/compression.h"
#include "spec/job/node_groups.h"
#include "workload/workload.h"

namespace ergometer::engine {
namespace {

/// What is known about jobs like this one.
struct Known {
  int64_t gpu_groups = 0;
  int64_t largest = 0;  ///< GPUs, of runs on this GPU; on any GPU when there are none
  bool nodes = false, precision = false, kind = false;
  SoftwareSeen software = SoftwareSeen::kNo;
};

Known known_about(const spec::Job& job, const EvidenceKey& key,
                  const std::vector<Evidence>& evidence) {
  Known known;
  known.software = software_seen(job, evidence);
  int64_t largest_anywhere = 0;
  for (const Evidence& e : evidence) {
    largest_anywhere = std::max(largest_anywhere, e.most_gpus);
    known.kind = known.kind || e.key.kind == key.kind;
    if (e.key.architecture == key.architecture && e.key.precision == key.precision)
      known.precision = true;
    if (e.key.gpu != key.gpu) continue;
    known.gpu_groups += e.groups;
    known.largest = std::max(known.largest, e.most_gpus);
    known.nodes = known.nodes || e.key.several_nodes;
  }
  if (known.gpu_groups == 0) known.largest = largest_anywhere;
  return known;
}

class Terms {
 public:
  explicit Terms(double base) : variance_(base * base) {}

  void add(double sigma, std::string reason) {
    if (sigma <= 0) return;
    variance_ += sigma * sigma;
    reasons_.push_back(std::move(reason));
  }
  void add_quietly(double sigma) { variance_ += sigma * sigma; }
  /// A term that always applies, and is named only where it counts.
  void add_share(double sigma, double share, std::string_view what) {
    constexpr double kWorthNaming = 0.05;
    const double term = sigma * share;
    if (share >= kWorthNaming) {
      add(term, fmt::format("{:.0f} % of the step {}", 100 * share, what));
    } else {
      add_quietly(term);
    }
  }
  double sigma() const { return std::sqrt(variance_); }
  std::vector<std::string> take_reasons() { return std::move(reasons_); }

 private:
  double variance_;
  std::vector<std::string> reasons_;
};

/// "H100-SXM5-80GB"; a catalog GPU's name that stands for other parameters is "such" a GPU.
std::string gpu_name(const spec::Job& job) {
  if (spec::is_mixed(job.cluster)) return "mixed-GPU";
  const spec::Gpu& gpu = job.cluster.node.gpu;
  const bool borrowed = gpu.measured_as.empty() &&
                        spec::find_in_catalog(spec::CatalogKind::kGpu, gpu.name) != nullptr;
  return (borrowed ? "such " : "") + gpu.name;
}

void add_gpu(Terms& terms, const std::string& gpu, const Known& known, const Uncertainty& u) {
  if (known.gpu_groups == 0) {
    terms.add(u.gpu_unseen, fmt::format("no {} run was ever seen", gpu));
    return;
  }
  constexpr int64_t kFew = 5;
  const double sigma = u.gpu_few / std::sqrt(static_cast<double>(known.gpu_groups));
  if (known.gpu_groups < kFew) {
    terms.add(sigma, fmt::format("only {} series of runs on {} {} seen", known.gpu_groups, gpu,
                                 known.gpu_groups == 1 ? "was" : "were"));
  } else {
    terms.add_quietly(sigma);
  }
}

void add_scale(Terms& terms, int64_t gpus, const std::string& gpu, const Known& known,
               const Uncertainty& u) {
  if (known.largest == 0 || gpus <= known.largest) return;
  const double doublings =
      std::log2(static_cast<double>(gpus) / static_cast<double>(known.largest));
  terms.add(u.per_doubling * doublings,
            fmt::format("the largest run seen on {} had {} GPUs",
                        known.gpu_groups == 0 ? "any GPU" : gpu, known.largest));
}

/// An unnamed software is a guess, whatever runs of it were seen.
void add_software(Terms& terms, const spec::Job& job, const Known& known, const Uncertainty& u) {
  if (job.recipe.source == "inferred")
    terms.add(
        u.software_unnamed,
        fmt::format("software not named ({} assumed; --software names yours)", job.recipe.title));
  else if (known.software != SoftwareSeen::kYes)
    terms.add(
        u.software_unseen,
        fmt::format("no run of {}{} was ever seen",
                    job.recipe.title.empty() ? job.software.name : job.recipe.title,
                    known.software == SoftwareSeen::kOnOneGpu ? " on more than one GPU" : ""));
}

double exposed_s(const run::Breakdown& b) {
  return b.exposed_all_reduce + b.exposed_all_gather + b.exposed_reduce_scatter +
         b.exposed_all_to_all + b.exposed_send_recv;
}

double communication_share(const run::Performance& p) {
  return p.step_time_s > 0 ? exposed_s(p.breakdown_s) / p.step_time_s : 0;
}

/// What no measured job has: each is a kind of job of its own.
void add_never_seen(Terms& terms, const spec::Job& job, const Uncertainty& u) {
  if (!job.training.fuse.empty())
    terms.add(u.kind_unseen,
              "no job with communication inside the kernels of products was ever seen");
  if (!spec::activation_compression(job).none() || !spec::gradient_compression(job).none())
    terms.add(u.kind_unseen, "no job that compresses what it sends was ever seen");
  if (job.nodes() > 1 && job.cluster.fabric.parameters.has("distance.round_trip"))
    terms.add(u.kind_unseen, "no job on nodes far from each other was ever seen");
}

/// Of connections between far nodes.
run::Interval connections_spread(const spec::Job& job, const run::Performance& performance) {
  const base::ParameterSet& fabric = job.cluster.fabric.parameters;
  const double loss = fabric.value_or("distance.loss", 0);
  if (loss <= 0 || job.nodes() <= 1 || job.cluster.node.nics.empty()) return {.low = 1, .high = 1};
  const double connections =
      fabric.value_or("distance.connections", 1) *
      cost::lossy_tcp_bytes_per_s(fabric.value_or("distance.round_trip", 0), loss);
  return lossy_network_spread(connections, job.cluster.node.nics.front().bytes_per_s,
                              exposed_s(performance.breakdown_s), performance.step_time_s);
}

/// Of the step, that compute waits for the host, mean over roles.
double host_share(const Timeline& timeline) {
  if (timeline.step_s <= 0 || timeline.host_gaps_s.empty()) return 0;
  return std::accumulate(timeline.host_gaps_s.begin(), timeline.host_gaps_s.end(), 0.0) /
         static_cast<double>(timeline.host_gaps_s.size()) / timeline.step_s;
}

/// Seconds a step's copies of activations take there and back, one behind the other.
double host_copies_s(const spec::Job& job) {
  const workload::Workload workload = workload::lower(job);
  double seconds = 0;
  for (const int block : workload.layer_blocks) {
    const workload::Block& layer = workload.blocks[static_cast<size_t>(block)];
    for (const auto* list : {&layer.forward, &layer.backward})
      for (const workload::Item& item : *list)
        if (item.stream == workload::Stream::kHostCopies && item.op >= 0)
          seconds += workload.operators[static_cast<size_t>(item.op)].host_wait_s;
  }
  return seconds * static_cast<double>(job.micro_batches());
}

/// Of the time lost to stragglers: what its fit is sure to (the source of scale.jitter).
constexpr double kJitterDeviation = 0.31;

/// Of what the job's own kind is seen in the recording.
Terms measured_terms(const spec::Job& job, const EvidenceKey& key, const Uncertainty& u) {
  const spec::ClusterEvidence& seen = *job.cluster.measured;
  Terms terms(seen.form);
  if (!seen.mostly.empty())
    terms.add(seen.step_deviation, fmt::format("the recording leaves {:.1f} % open, mostly the {}",
                                               100 * seen.step_deviation, seen.mostly));
  if (key.precision != seen.precision)
    terms.add(u.precision_unseen, fmt::format("no {} run was recorded", key.precision));
  if (key.software != seen.software)
    terms.add(u.software_unseen, fmt::format("no run of {} was recorded", key.software));
  if (key.kind != seen.kind)
    terms.add(u.kind_unseen, fmt::format("no {} run was recorded", key.kind));
  if (job.nodes() > seen.nodes)
    terms.add(
        kJitterDeviation * job.software.parameters.value_or("scale.jitter", 0) *
            std::log2(static_cast<double>(job.nodes()) / static_cast<double>(seen.nodes)),
        fmt::format("the recorded job had {} node{}", seen.nodes, seen.nodes == 1 ? "" : "s"));
  return terms;
}

/// Of the runs that the catalog was calibrated on.
Terms catalog_terms(const spec::Job& job, const EvidenceKey& key, const Known& known,
                    const Uncertainty& u) {
  Terms terms(u.base);
  const std::string gpu = gpu_name(job);
  add_gpu(terms, gpu, known, u);
  if (key.several_nodes && !known.nodes)
    terms.add(u.nodes_unseen, fmt::format("no multi-node {} run was ever seen", gpu));
  if (!known.precision)
    terms.add(u.precision_unseen,
              fmt::format("no {} run on {} was ever seen", key.precision, key.architecture));
  add_software(terms, job, known, u);
  if (!known.kind) terms.add(u.kind_unseen, fmt::format("no {} run was ever seen", key.kind));
  return terms;
}

}  // namespace

EvidenceKey evidence_key(const spec::Job& job) {
  EvidenceKey key;
  key.gpu = spec::is_mixed(job.cluster) ? "" : job.cluster.node.gpu.measured_as;
  key.architecture = job.cluster.node.gpu.architecture;
  key.software = job.software.name;
  key.several_nodes = job.nodes() > 1;
  const spec::Training& t = job.training;
  switch (t.precision) {
    case spec::Precision::kFp32: key.precision = "fp32"; break;
    case spec::Precision::kFp16: key.precision = "fp16"; break;
    case spec::Precision::kBf16: key.precision = "bf16"; break;
    case spec::Precision::kFp8:
      key.precision = t.fp8_recipe == spec::Fp8Recipe::kMxfp8 ? "mxfp8" : "fp8";
      break;
    case spec::Precision::kNvfp4: key.precision = "nvfp4"; break;
  }
  key.kind = job.model.state_space.heads > 0 ? "hybrid"
             : job.model.experts.count > 0   ? "moe"
                                             : "dense";
  if (job.model.vision != nullptr) key.kind += " vision";
  if (job.parallelism.fsdp) key.kind += " fsdp";
  if (t.mode == spec::Mode::kLora) key.kind += " lora";
  if (t.mode == spec::Mode::kPrefill || t.mode == spec::Mode::kDecode) key.kind += " inference";
  return key;
}

SoftwareSeen software_seen(const spec::Job& job, const std::vector<Evidence>& evidence) {
  SoftwareSeen seen = SoftwareSeen::kNo;
  for (const Evidence& e : evidence) {
    if (e.key.software != job.software.name) continue;
    if (e.most_gpus > 1 || job.gpus <= 1) return SoftwareSeen::kYes;
    seen = SoftwareSeen::kOnOneGpu;
  }
  return seen;
}

Interval step_time_interval(const spec::Job& job, const run::Performance& performance,
                            double host_share, const std::vector<Evidence>& evidence,
                            const Uncertainty& u) {
  const EvidenceKey key = evidence_key(job);
  const Known known = known_about(job, key, evidence);
  const bool measured = job.cluster.measured.has_value();
  Terms terms = measured ? measured_terms(job, key, u) : catalog_terms(job, key, known, u);
  add_never_seen(terms, job, u);
  if (job.training.assumed_micro_batch)
    terms.add(u.micro_batch_unsaid, "micro batch not said (1 assumed; --mbs says yours)");
  add_scale(terms, job.gpus, gpu_name(job), known, u);
  if (!measured) {
    terms.add_share(u.host, host_share, "waits for the host to launch kernels");
    terms.add_share(u.communication, communication_share(performance), "waits for communication");
  }
  Interval interval;
  interval.sigma = terms.sigma();
  const double factor = std::exp(kNormal90 * interval.sigma);
  interval.low_s = performance.step_time_s / factor;
  interval.high_s = performance.step_time_s * factor;
  interval.reasons = terms.take_reasons();
  return interval;
}

void add_interval(run::Performance& performance, const spec::Job& job, const Timeline& timeline) {
  add_interval(performance, job, timeline, catalog_evidence());
}

run::Interval host_copies_spread(double one_way_s, double compute_s, double step_s) {
  constexpr double kForward = 1 / 3.0;
  const auto exposed_s = [&](double longer) {
    return std::max(0.0, longer * one_way_s - kForward * compute_s) +
           std::max(0.0, longer * one_way_s - (1 - kForward) * compute_s);
  };
  constexpr double kLinkFactor = 2;
  const double now_s = exposed_s(1);
  return {.low = std::max(0.0, 1 - (now_s - exposed_s(1 / kLinkFactor)) / step_s),
          .high = 1 + (exposed_s(kLinkFactor) - now_s) / step_s};
}

run::Interval host_optimizer_spread(double optimizer_s, double step_s) {
  return {.low = 1 - optimizer_s / 2 / step_s, .high = 1 + optimizer_s / step_s};
}

run::Interval lossy_network_spread(double connections, double line, double exposed_s,
                                   double step_s) {
  constexpr double kFactor = 2;
  const double now = std::min(line, connections);
  const double slower = now / std::min(line, connections / kFactor);
  const double faster = now / std::min(line, connections * kFactor);
  return {.low = 1 - exposed_s * (1 - faster) / step_s,
          .high = 1 + exposed_s * (slower - 1) / step_s};
}

void widen(const run::Interval& spread, std::string_view why, run::Performance& performance) {
  if (spread.low == 1 && spread.high == 1) return;
  run::Performance& p = performance;
  const auto end = [&](double far_s, double factor) {
    return std::exp(std::hypot(std::log(far_s / p.step_time_s), std::log(factor)));
  };
  p.step_time_s_low = p.step_time_s / end(p.step_time_s_low, spread.low);
  p.step_time_s_high = p.step_time_s * end(p.step_time_s_high, spread.high);
  constexpr double kWorthNaming = 0.01;
  if (spread.high - spread.low > kWorthNaming)
    p.interval_reasons.push_back(fmt::format("{}: {:+.0f} to {:+.0f} % of the step", why,
                                             100 * (spread.low - 1), 100 * (spread.high - 1)));
}

void add_interval(run::Performance& performance, const spec::Job& job, const Timeline& timeline,
                  const std::vector<Evidence>& evidence) {
  Interval interval =
      step_time_interval(job, performance, host_share(timeline), evidence, catalog_uncertainty());
  performance.step_time_s_low = interval.low_s;
  performance.step_time_s_high = interval.high_s;
  performance.interval_reasons = std::move(interval.reasons);
  const double step_s = performance.step_time_s;
  if (job.training.optimizer_offload && job.trains())
    widen(host_optimizer_spread(performance.breakdown_s.optimizer, step_s),
          "the host may update an offloaded optimizer half or twice as fast as assumed",
          performance);
  widen(connections_spread(job, performance),
        "connections that lose packets may pass on half or twice as much as assumed", performance);
  if (!job.offloads_activations()) return;
  widen(host_copies_spread(host_copies_s(job) / 2, performance.breakdown_s.compute, step_s),
        "the link to the host's memory may be half or twice as fast as assumed", performance);
}

}  // namespace ergometer::engine
