#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/math/level_changes.h"
#include "analysis/telemetry/collective_timings.h"
#include "analysis/telemetry/telemetry_duty.h"
#include "analysis/telemetry/telemetry_meter.h"
#include "analysis/telemetry/telemetry_updates.h"
#include "analysis/telemetry/throttling.h"
#include "analysis/telemetry/time_gaps.h"
#include "run/device_log.h"
#include "run/sensor_error.h"

namespace ergometer::analysis {

/// Energy by one way of knowing it, over the time that all ways of the device cover.
struct EnergyWay {
  std::string way;  ///< "counter", "average_power", "power", "instant_power",
  /// "instant_power_whole_beats" (analysis/telemetry/telemetry_duty.h), "windows"
  double energy_j = 0;
};

/// Levels of a series over time: each value stands until the next reading; of the last one before
/// a gap nobody knows for how long, so it counts for no time.
struct Levels {
  double mean = 0, lowest = 0, highest = 0;
};

/// What the telemetry of one GPU, node or meter says. What was not read is not there.
struct DeviceReport {
  run::DeviceKind kind = run::DeviceKind::kGpu;
  int64_t rank = -1, index = -1;
  std::string host, name, uuid, file;
  std::string label, host_label;  ///< of a GPU: what tables call it and its host
  int64_t start_ns = 0, end_ns = 0;

  /// Where one of the ways to know its energy was not read (telemetry/time_gaps.h), and where its
  /// counter began anew: left out of `energies`, `energy_j` and `mean_w`.
  std::vector<TimeSpan> gaps, resets;

  bool has_power = false;
  std::string power_metric;  ///< which series the numbers of power are of
  double mean_w = 0, p5_w = 0, median_w = 0, p95_w = 0, p99_w = 0, peak_w = 0;
  SensorUpdates updates;  ///< of that series, its points among them
  std::vector<ChangePoint> changes;
  std::vector<RepeatingStretch> repeating;

  std::vector<EnergyWay> energies;  ///< the one that counts first
  double counter_s = 0;             ///< how far its counter's updates are apart; 0: has none
  double energy_j = 0;              ///< of the first way
  double disagreement_pct = 0;      ///< largest minus smallest way, of their mean
  /// Of `energy_j` and `mean_w`, where one meter ran beside the only GPU by what it says; not
  /// stated of simulations.
  run::EnergyError error = {.stated = false};
  run::EnergyError windows_error = {.stated = false};  ///< of each of its energy windows

  std::optional<Levels> gpu_c, memory_c, sm_clock_mhz, memory_clock_mhz, utilization_pct,
      memory_utilization_pct, fan_pct, power_limit_w, cpu_pct, cpu_c, memory_used_b;
  std::optional<double> idle_fraction;  ///< time without a kernel, by utilization
  std::optional<double> throttled_fraction;
  std::vector<ReasonShare> throttling;  ///< why, the longest first (telemetry/throttling.h)
  std::vector<ReasonShare> reasons;     ///< all event reasons, as NVML sets them
  struct Traffic {
    std::string metric;
    double bytes = 0;
    bool partial = false;  ///< of NVLink's first link alone
    int64_t links = 0;     ///< by which that is multiplied into an estimate; 0: not asked for
  };
  std::vector<Traffic> traffic;
};

/// How long a step took by a training log's own words: the median of the second half of its steps,
/// where the program is warm and the GPUs are hot, as a prediction of the steady state assumes.
/// What is slow may be slow at any time: of that all lines count but the first, in which programs
/// compile and choose kernels.
struct LoggedSteps {
  int64_t steps = 0;             ///< in the log; 0: it tells of none
  int64_t steps_a_line = 1;      ///< of which a line says the mean: the usual distance of numbers
  double median_s = 0;           ///< of the second half
  double low_s = 0, high_s = 0;  ///< 10th and 90th percentile of the same
  double p95_s = 0, slowest_s = 0;  ///< of all lines behind the first; of one line that
  int64_t slowest_step = 0;         ///< its number
  double tokens_per_s_per_gpu = 0;  ///< median of the same steps; 0: the log does not say
  /// From the first of them to the last; both 0 where the log does not say when they were.
  int64_t start_ns = 0, end_ns = 0;
};
LoggedSteps logged_steps(const run::TrainingLog& training);
/// Of the log with most steps: where several nodes print the same steps, any of them.
LoggedSteps logged_steps(const run::DeviceLog& log);

/// A training log with the power of its nodes.
struct TrainingReport {
  std::string file, benchmark, platform;
  int64_t nodes = 0;
  double run_s = 0;
  /// Of all nodes from run_start to run_stop: the trapezoidal rule, with readings on either side
  /// interpolated to the marks.
  double node_energy_j = 0;
  double mean_times_time_j = 0;  ///< mean of the readings between the marks times the run's length
  double disagreement_pct = 0;
  /// Of `node_energy_j`, the mean powers and `energy_per_sample_j`.
  run::EnergyError error = {.stated = false};
  double interconnect_energy_j = 0;  ///< of switches, by the power that is stated of them
  double mean_node_w = 0, peak_node_w = 0;
  double training_node_w = 0;   ///< mean within blocks
  double covered_fraction = 0;  ///< share of the run within the nodes' readings
  double samples_per_s = 0, energy_per_sample_j = 0;
  LoggedSteps logged;
};

struct GaugeReport {
  std::string name;
  int64_t count = 0;
  double lowest = 0, mean = 0, highest = 0;
  int64_t highest_rank = -1;
};

struct PowerSummary {
  bool known = false;
  double mean_w_per_gpu = 0, p95_w_per_gpu = 0, peak_w_per_gpu = 0;
  double gpu_energy_j = 0;                          ///< of those whose energy is known
  run::EnergyError error = {.stated = false};       ///< of `gpu_energy_j`
  run::EnergyError mean_error = {.stated = false};  ///< of `mean_w_per_gpu`
};
/// The GPUs of one host.
struct HostEnergy {
  std::string host;
  int64_t gpus = 0;
  double gpu_energy_j = 0;
  run::EnergyError error;
};
struct ClusterSummary {
  bool known = false;  ///< nodes were measured at their plugs
  double mean_w = 0, peak_w = 0, energy_j = 0;
  run::EnergyError error = {.stated = false};
};
struct ThermalSummary {
  bool known = false;
  double mean_gpu_c = 0, max_gpu_c = 0, spread_c = 0;
  std::optional<double> mean_memory_c, max_memory_c, throttled_time_fraction, mean_clock_mhz,
      lowest_clock_mhz;
  std::vector<ReasonShare> event_shares;
};

struct TelemetryReport {
  PowerSummary power;
  std::vector<HostEnergy> hosts;  ///< where GPUs' energy was measured
  ClusterSummary cluster;
  ThermalSummary thermal;
  std::vector<DeviceReport> devices;
  std::vector<TrainingReport> training;
  std::vector<GaugeReport> gauges;
  std::vector<MeterReport> meters;
  CollectiveTimings collectives;
  std::vector<std::string> notes;  ///< what was left out, one sentence each
};

/// The part of it about one training log; `devices` as in the log.
TrainingReport report_training(const run::DeviceLog& log, const std::vector<DeviceReport>& devices,
                               const run::TrainingLog& training);
/// `beside_traces`: GPUs are told by rank too, in whose words traces speak.
TelemetryReport analyze_telemetry(const run::DeviceLog& log, bool beside_traces = false);

}  // namespace ergometer::analysis
