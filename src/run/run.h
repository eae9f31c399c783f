#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/detail.h"
#include "run/device_log.h"
#include "run/gpu_trace.h"
#include "run/host_clock.h"
#include "run/study.h"
#include "run/work_graph.h"

namespace ergometer::run {

inline constexpr int kSchemaVersion = 1;

/// The summary of a job, simulated, recorded or imported alike; names and units are the interface
/// contract's.
struct Breakdown {
  double compute = 0, exposed_all_reduce = 0, exposed_all_gather = 0, exposed_reduce_scatter = 0,
         exposed_all_to_all = 0, exposed_send_recv = 0, optimizer = 0,
         idle = 0;  ///< seconds, mean over ranks
};

struct Performance {
  double step_time_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  /// 90 % interval of a predicted step time, and what makes it as wide as it is; a measured one has
  /// no width.
  double step_time_s_low = 0, step_time_s_high = 0;
  std::vector<std::string> interval_reasons;
  double model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0, mfu = 0, hfu = 0;
  double pipeline_bubble_fraction = 0;
  Breakdown breakdown_s;
};

struct MemoryPart {
  std::string name;
  double bytes = 0;
};

struct StageMemory {
  int64_t stage = 0;
  double weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0,
         other_bytes = 0;
  std::vector<MemoryPart> parts;
};

/// What a probability of fitting in memory is called: 0.9 and more, less than 0.1, or between.
enum class FitState : uint8_t { kFits, kAtRisk, kDoesNotFit };
constexpr FitState fit_state(double probability) {
  constexpr double kSure = 0.9;
  if (probability >= kSure) return FitState::kFits;
  return probability < 1 - kSure ? FitState::kDoesNotFit : FitState::kAtRisk;
}

struct Memory {
  bool fits = true;
  double fit_probability = 1;  ///< `fits`: one half or more
  double peak_bytes = 0, capacity_bytes = 0;
  double reserved_bytes = 0;  ///< what the allocator needs beyond the peak: holes between tensors
  double weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0,
         other_bytes = 0;
  int64_t worst_stage = 0;
  std::string advice;  ///< empty when it fits
  std::vector<StageMemory> stages;
};

struct Link {
  std::string kind;           ///< "nvlink", "xgmi", "pcie", "nic"
  double bytes_per_step = 0;  ///< over the cluster, each byte once at its sender
  double mean_gb_per_s = 0,
         peak_gb_per_s = 0;  ///< per GPU (nvlink, xgmi, pcie) or per NIC, one direction
  double utilization = 0;    ///< mean over line rate
};

/// A 90 % interval of a predicted number; equal ends for a measured one.
struct Interval {
  double low = 0, high = 0;
};

/// One part of what a GPU or the cluster draws, mean.
struct PowerPart {
  std::string name;  ///< "tensor", "hbm", ...; of a node "gpus", "cpu", "fans", ...
  double watts = 0;
};

/// Rows of a step's energy from outside inwards: their names are frames, "stage 0;backward;fc1".
inline constexpr std::string_view kStackDimension = "stack";

/// A part of the energy that the GPUs of a job take in a step, over all of them. The rows of one
/// dimension add up to `Power::gpu_energy_j_per_step`.
struct EnergyRow {
  std::string dimension;  ///< "phase", "stage", "block", "layer", "kind", "operator", ...
  std::string name;
  double joules = 0;
  double work_joules = 0;  ///< of them, what the work itself takes; the rest is drawn all the time
  double seconds = 0;      ///< of the step, mean over GPUs, in which that rest is drawn for it
  /// What draws it ("part") is not divided into work and the rest.
  bool is_divided() const { return dimension != "part"; }
};

/// A phase of a training run, all its times together.
struct RunPhase {
  std::string name;  ///< "training", "evaluation", "pauses"
  double seconds = 0, cluster_w = 0;
};

/// Power and heat of the GPUs of one group of unlike nodes, means over them and over time; energies
/// of a step. What they draw at the plug, and what their steps take, adds up to the cluster's.
struct KindPower {
  std::string gpu, node;  ///< "A100-SXM4-80GB", "hgx-a100-80gb"
  double mean_w_per_gpu = 0, peak_w_per_gpu = 0;
  double nodes_mean_w = 0;                                  ///< all of its nodes at their plugs
  double energy_j_per_step = 0, gpu_energy_j_per_step = 0;  ///< of its nodes; of its ranks' GPUs
  double mean_gpu_c = 0, max_gpu_c = 0;
  double mean_clock_mhz = 0, throttled_time_fraction = 0;
};

struct Power {
  double mean_w_per_gpu = 0, p95_w_per_gpu = 0, peak_w_per_gpu = 0;
  /// Every node at its plug, supplies' losses and fans included, without the building.
  double cluster_mean_w = 0, cluster_peak_w = 0;
  double facility_mean_w = 0;        ///< cluster mean times PUE
  double duration_s = 0, steps = 0;  ///< that all of this is about
  double energy_j_per_step = 0;      ///< cluster: mean power times duration, over the steps
  double gpu_energy_j_per_step = 0;
  double tokens_per_j = 0;                    ///< of cluster energy
  Interval mean_interval_w, peak_interval_w;  ///< a GPU
  Interval cluster_mean_interval_w, cluster_peak_interval_w;
  Interval energy_interval_j, gpu_energy_interval_j;  ///< a step
  std::vector<PowerPart> gpu_parts;                   ///< a GPU, mean over GPUs
  std::vector<PowerPart>
      node_parts;                    ///< a node, mean over nodes; their sum is cluster mean / nodes
  std::vector<RunPhase> run_phases;  ///< empty where not asked for
  std::vector<KindPower> kinds;      ///< group by group; none where the cluster's nodes are alike
  std::vector<EnergyRow> step_energy;  ///< dimension by dimension; empty where not asked for
};

/// Mean power of all nodes over all phases.
inline double mean_w(const std::vector<RunPhase>& phases) {
  double joules = 0, seconds = 0;
  for (const RunPhase& phase : phases) {
    joules += phase.seconds * phase.cluster_w;
    seconds += phase.seconds;
  }
  return seconds > 0 ? joules / seconds : 0;
}

/// Largest change of the cluster's power from one interval to the next.
struct Ramp {
  double over_s = 0, up_w_per_s = 0, down_w_per_s = 0;
};
/// Root mean square of the cluster power's swing in a band of frequencies.
struct Band {
  double low_hz = 0, high_hz = 0, rms_w = 0;
};
/// The cluster's power over time, for those who feed the building.
struct ClusterPower {
  double interval_s = 0;
  std::vector<double> watts;  ///< at the plug; one step in the steady state, else the duration
  double lowest_w = 0,
         p95_w = 0;  ///< of means over as long as the peak's, run::Power::cluster_peak_w
  std::vector<Ramp> ramps;
  std::vector<Band> bands;
  double dominant_hz = 0, dominant_rms_w = 0;
  double smoothing_burnt_w = 0;  ///< mean power that smoothing wastes
};

struct EventShare {
  std::string reason;   ///< NVML's name: "sw_power_cap", "sw_thermal_slowdown", ...
  double fraction = 0;  ///< of GPU time
};

/// The GPUs of one row of slots, counted from the coolant's inlet; means over nodes.
struct SlotRow {
  int64_t row = 0;
  double mean_gpu_c = 0, max_gpu_c = 0, mean_clock_mhz = 0;
};

struct Thermal {
  double mean_gpu_c = 0, max_gpu_c = 0;
  double spread_c = 0;  ///< hottest minus coolest GPU of the node where that is largest
  double mean_memory_c = 0, max_memory_c = 0;
  double throttled_time_fraction = 0;  ///< GPU time with power or temperature below the clock asked
  /// How much shorter a step would be, as the engine plays it: with every GPU at the clock asked
  /// for; with none slower than the median. Known where `Power::step_energy` is.
  double throttling_cost_s = 0, straggler_cost_s = 0;
  double mean_clock_mhz = 0, lowest_clock_mhz = 0;
  double inlet_c = 0, fan_fraction = 0;  ///< mean over nodes
  Interval mean_interval_c, max_interval_c, clock_interval_mhz;
  std::vector<SlotRow> rows;  ///< front to rear; one where no GPU heats another's coolant
  std::vector<EventShare> event_shares;
  std::string limit;  ///< what limits the clocks, a sentence
  /// Predicted to reach the temperature at which hardware turns them off: the job would not run.
  double shutdown_gpus = 0;
};

struct Rank {
  int64_t rank = 0, node = 0, slot = 0, stage = 0;
  double end_s = 0;
  Breakdown breakdown_s;
  double mean_power_w = 0, peak_power_w = 0, mean_gpu_c = 0, max_gpu_c = 0, mean_clock_mhz = 0,
         throttled_time_fraction = 0;
};

/// One row of telemetry, as recorded or as a simulated sensor would show it.
struct Telemetry {
  int64_t time_ns = 0, rank = 0;
  double power_w = 0;          ///< instant reading
  double average_power_w = 0;  ///< averaged reading
  double gpu_c = 0, memory_c = 0, sm_clock_mhz = 0;
  int64_t event_reasons = 0;  ///< NVML's bits
};

/// One kernel or wait of a sampled rank, for the trace and the kernel table.
struct Kernel {
  int64_t rank = 0;
  int32_t stream = 0;
  std::string name;  ///< as a profiler would show it
  std::string
      category;  ///< "gemm", "attention", "memory", "collective", "send_recv", "optimizer", "wait"
  int64_t start_ns = 0, duration_ns = 0;
  int64_t micro_batch = -1, chunk = -1, layer = -1;
  double flops = 0, bytes = 0, comm_bytes = 0;
  std::string pass =
      {};  ///< "forward", "recompute", "backward", "weight", "optimizer"; empty: unknown
};

/// How evenly experts are loaded under a setting, and what the job then takes.
struct ExpertRow {
  std::string setting;  ///< as a user types it, "--moe-routing zipf:1.2"
  double step_time_s = 0;
  double mean_load = 1, most_load = 1;  ///< of a layer's fullest rank in even shares: mean and most
  double dropped_fraction = 0;          ///< of the choices, by a capacity
  double peak_memory_bytes = 0;
};

/// What documents of unlike length cost under a setting. Times are of many drawn steps.
struct SequenceRow {
  std::string setting;  ///< as a user types it, "--sequence-order length-balanced"
  double step_time_s = 0, step_time_s_low = 0, step_time_s_high = 0;  ///< mean, least, most
  double tokens_per_s = 0;        ///< of documents: padding does not count
  double padding_fraction = 0;    ///< of the tokens computed
  double attention_fraction = 0;  ///< of the compute time that the attention core takes
  /// Of the step that ranks wait for those with more work in it, mean over them.
  double waiting_fraction = 0;
  double slowest_load = 1;  ///< work of the replica with most, over the mean of all
  double peak_memory_bytes = 0;
};

/// How samples of text and images lie in micro batches, mean over drawn steps.
struct PackingRow {
  std::string setting;          ///< as `SequenceRow::setting`
  double padding_fraction = 0;  ///< of what micro batches have room for in tokens
  /// What replicas have less than the one with most, of micro batches that run at the same time,
  /// over what all would have with as much as that one: tokens, tiles of images.
  double token_distance = 0, tile_distance = 0;
  double tokens = 0, tiles = 0;  ///< of a micro batch
};

/// The GPUs of one group of a cluster of unlike nodes; times are of a step, means over them.
struct GpuKind {
  std::string gpu, node;       ///< "A100-SXM4-80GB", "hgx-a100-80gb"
  int64_t gpus = 0;            ///< of the job
  std::string ranks, stages;   ///< "0-15", "0, 2-3"
  double compute_s = 0;        ///< own work: kernels and the optimizer
  double communication_s = 0;  ///< exposed; what they wait for late members in it included
  double idle_s = 0;           ///< waiting for other stages and for the end of the step
};

/// What was run or simulated, as one JSON object in the contract's form ("job" of the summary).
struct Run {
  std::string source = "simulated";  ///< "simulated" | "recorded" | "imported"
  Performance performance;
  Memory memory;
  bool has_power = false;  ///< power, cluster_power and thermal mean something
  Power power;
  ClusterPower cluster_power;
  Thermal thermal;
  /// Of a job whose tokens do not choose experts evenly: as it is, then what would change it.
  std::vector<ExpertRow> experts;
  /// Of a job whose documents are of unlike length: the same.
  std::vector<SequenceRow> sequences;
  std::vector<PackingRow> packing;  ///< where samples have images too: a row of `sequences` each
  std::vector<GpuKind> gpu_kinds;   ///< group by group; none where the cluster's nodes are alike
  std::vector<Link> links;
  std::vector<Telemetry> telemetry;  ///< of sampled ranks, rank by rank, in order of time
  std::vector<Rank> ranks;           ///< all of them when asked for, else none
  std::vector<Kernel> kernels;       ///< of sampled ranks; of an imported Run its traces' events
  /// The stretch of the step's steady state that `kernels` show; no length: all of the step.
  int64_t kernels_from_ns = 0, kernels_to_ns = 0;
  /// All stretches that `kernels` show, in order, that one among them; none: see there.
  std::vector<StepWindow> kernel_windows;
  std::vector<RankTasks> tasks;            ///< of one rank a stage, where known
  std::vector<TelemetryBand> bands;        ///< by metric, then time; where not every GPU has rows
  std::vector<CollectiveUse> collectives;  ///< the one with the most time first
  std::vector<Slot> slots;                 ///< of a node's GPUs
  std::vector<Assumption> assumptions;
  std::vector<RankTrace> traces;             ///< what was imported, a trace a file
  std::vector<WorkGraph> graphs;             ///< what was imported, a graph a file
  std::vector<Dropped> dropped;              ///< what was left out on import
  DeviceLog log;                             ///< recorded or imported telemetry, whole
  std::vector<HostClock> clocks;             ///< of a recorded Run, a host each
  std::map<std::string, std::string> facts;  ///< of a recorded Run: "command", "host", ...
  std::optional<Study> study;                ///< many jobs instead of one; the summary is empty
  std::string limiter;                       ///< the one thing that limits the job, a sentence
  std::string job_json;
};

/// Writes and reads the Run's SQLite file; its schema is documented in docs/run-file.md.
Result<void> write_run(const Run& run, const std::string& path);
Result<Run> read_run(const std::string& path);
/// Whether a file is a Run, by its first bytes: false of every other SQLite file, and where there
/// is none. An error: it cannot be read.
Result<bool> is_run_file(const std::string& path);

}  // namespace ergometer::run
