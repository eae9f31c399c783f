#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/gpu_trace.h"

namespace ergometer::run {

/// What a sensor or a counter reads. The unit of each is in `kMetrics`.
enum class Metric : uint8_t {
  kPower,         ///< nvidia-smi's power.draw and the like: by architecture instant or a mean
  kInstantPower,  ///< the sensor's latest value
  kAveragePower,  ///< a mean over the last second, or what the driver takes for one
  kMemoryPower,   ///< part of the GPU's power
  kModulePower,   ///< GPU and CPU of one module
  kPowerLimit,
  kEnergy,  ///< counter
  kGpuTemperature,
  kMemoryTemperature,
  kSmClock,
  kMemoryClock,
  kGpuUtilization,     ///< share of time with a kernel on the GPU
  kMemoryUtilization,  ///< share of time the memory is read or written
  kMemoryUsed,
  kFan,
  kEventReasons,  ///< NVML's bits (run/event_reasons.h)
  kPcieSent,      ///< counters of bytes
  kPcieReceived,
  kNvlinkSent,
  kNvlinkReceived,
  kPcieSentRate,
  kPcieReceivedRate,
  kSwPowerCapTime,  ///< counters of time, by clock event reason
  kSyncBoostTime,
  kSwThermalTime,
  kHwThermalTime,
  kHwPowerBrakeTime,
  kHotspotTemperature,  ///< the hottest place of the die
  kTemperatureMargin,   ///< degrees below the temperature at which the GPU slows itself down
  kFabricClock,
  kPcieReplays,  ///< counters of events
  kEccCorrected,
  kEccUncorrected,
  kNvlinkErrors,
  kXid,             ///< number of the driver's latest error message
  kMemoryEnergy,    ///< counter; of a CPU: its DRAM's
  kCpuUtilization,  ///< share of time in which processors do not idle
  kLoad,            ///< processes that run or wait to
  kInletTemperature,
  kOutletTemperature,
  kFanSpeed,
  kNetSent,  ///< counters of a network port
  kNetReceived,
  kNetErrors,
  kNetWait,  ///< counter of times in which there was data and no credit to send it
  kLineRate,
  kCpuTemperature,  ///< of a package
  kXgmiSent,        ///< counters of bytes that a GPU wrote to, and read from, others over xGMI
  kXgmiReceived,
  kCount
};

/// What is known of a metric: readings outside lowest .. highest are no readings.
struct MetricInfo {
  const char* name;  ///< as in JSON
  const char* unit;
  double lowest, highest;
  bool counter;
  bool reads(double value) const { return value >= lowest && value <= highest; }
};
const MetricInfo& metric_info(Metric metric);
std::optional<Metric> metric_of(std::string_view name);

struct Sample {
  int64_t time_ns = 0;
  double value = 0;
};

/// Readings of one metric of one device, in order of time.
struct Series {
  Metric metric = Metric::kPower;
  /// Not what its name says, but what comes nearest: NVLink bytes of link 0 alone.
  bool partial = false;
  std::vector<Sample> samples;
  /// Of a partial series: how many times it the whole is estimated to be; 0: no estimate.
  int64_t links = 0;
};

enum class DeviceKind : uint8_t { kGpu, kNode, kSwitch, kMeter, kCpu, kPort };
/// "gpu", "node", "switch", "meter", "cpu" (a package), "port" (of a network card)
const char* kind_name(DeviceKind kind);

/// A stretch of time with the energy that a device used in it, as the file states it.
struct EnergyWindow {
  std::string name;
  int64_t start_ns = 0, duration_ns = 0;
  double energy_j = 0;
};

/// A GPU, a node at its plug, a switch, a meter, a CPU package or a network port.
struct Device {
  DeviceKind kind = DeviceKind::kGpu;
  int64_t rank = -1;  ///< of a GPU: as stated, else counted by host and index
  int64_t index = -1;
  std::string host, uuid, name, file;
  std::string pci_bus_id;  ///< of a GPU, "00000000:17:00.0", where known
  std::string job;         ///< of a node: the training log it belongs to, by the folder it lies in
  std::vector<Series> series;
  std::vector<EnergyWindow> windows;
  double conversion_efficiency = 1;  ///< what DC readings are divided by
  double stated_power_w = 0;         ///< of a switch: an estimate instead of readings

  const Series* find(Metric metric) const {
    for (const Series& s : series)
      if (s.metric == metric) return &s;
    return nullptr;
  }
};

/// A stretch of time that a log marks: "run", "block", "evaluation".
struct Phase {
  std::string name;
  int64_t start_ns = 0, end_ns = 0;
};

/// How long one training step took, as a training program wrote it; where it writes every n-th
/// step, the mean of n.
struct TrainingStep {
  int64_t number = 0;
  double seconds = 0;
  /// When the program wrote of it, by its clock; a time without zone is taken as UTC. 0: not said.
  int64_t end_ns = 0;
  double tokens_per_s_per_gpu = 0;  ///< as the program says; 0: not said
};

/// One training job as its log tells: what power logs are held against.
struct TrainingLog {
  std::string file, job, benchmark, platform;  ///< job: the file's name without extension
  double global_batch = 0;
  std::vector<Phase> phases;
  std::vector<double> samples_per_s;
  std::vector<TrainingStep> steps;
};

/// A measured row of time and power at a power limit.
struct PowerLimitRow {
  std::string job;  ///< the row's other columns
  double limit_w = 0, time_s = 0, mean_w = 0, energy_j = 0;
};

/// A number beside a name, such as a monitor's own mean over kernels.
struct Gauge {
  std::string name, labels;  ///< labels as `operation="Matmul"`, without rank and place
  int64_t rank = -1;
  double value = 0;
};

/// One collective as a tool measured it, or the mean of several.
struct CollectiveTiming {
  std::string kind;       ///< in the tool's words: "AllReduce", "in-place"
  int64_t sequence = -1;  ///< its number among those of its kind on the communicator; -1: not said
  double bytes = 0, seconds = 0;
  double algorithm_gb_per_s = 0, bus_gb_per_s = 0;  ///< as the tool says
};

/// The collectives that one rank of a communicator measured, or all of its ranks together.
struct CollectiveLog {
  std::string source;  ///< "nccl-inspector", "nccl-tests"
  std::string communicator, host, file;
  int64_t rank = -1;             ///< -1: all together
  int64_t ranks = 0, nodes = 0;  ///< of the communicator; 0: not said
  std::vector<CollectiveTiming> timings;
};

/// What telemetry files hold, from any tool.
struct DeviceLog {
  std::string source = "imported";  ///< or "recorded", "simulated": of one Run alone
  std::vector<Device> devices;      ///< by kind, then rank
  std::vector<TrainingLog> training;
  std::vector<PowerLimitRow> power_limits;
  std::vector<Gauge> gauges;
  std::vector<CollectiveLog> collectives;
  std::vector<Dropped> dropped;
  std::vector<std::string> notes;  ///< what the reader has to assume, one sentence each
};

/// The devices with their readings from `start_ns` to `end_ns` alone, and nothing else.
DeviceLog readings_within(const DeviceLog& log, int64_t start_ns, int64_t end_ns);

/// Whether a log holds anything but notes.
bool has_log(const DeviceLog& log);

struct Run;
/// A Run's log, or, where it has none, its telemetry rows as series by rank, so that a simulated, a
/// recorded and an imported job are looked at by the same analysis. In a row a zero is no reading.
DeviceLog device_log(const Run& run);
/// The same of a Run file, without reading what else it holds.
Result<DeviceLog> read_device_log(const std::string& path);
/// Whether a Run file holds imported traces; false of what is no Run, or a damaged one.
Result<bool> has_traces(const std::string& path);

}  // namespace ergometer::run
