#include "calibration/twin/board_readings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/telemetry/telemetry.h"
#include "base/collection.h"
#include "calibration/twin/sampling.h"
#include "physics/gpu_power.h"
#include "run/device_temperature.h"

namespace ergometer::calibration::twin {
namespace {

using analysis::DeviceReport;

constexpr double kMostOff = 3;  ///< K, of `unsettled_k`

/// Hosts in the order of their lowest rank.
std::vector<std::string> hosts_of(const std::vector<DeviceReport>& devices) {
  std::vector<std::pair<int64_t, std::string>> gpus;
  for (const DeviceReport& it : devices)
    if (it.kind == run::DeviceKind::kGpu) gpus.emplace_back(it.rank, it.host);
  std::ranges::stable_sort(gpus);
  std::vector<std::string> hosts;
  for (auto& [rank, host] : gpus)
    if (!base::contains(hosts, host)) hosts.push_back(std::move(host));
  return hosts;
}

/// Recorded hosts in the order of the job's nodes, as many as it has; empty: not recorded.
std::vector<std::string> by_node(std::vector<std::string> recorded, int64_t nodes) {
  std::vector<std::string> hosts(static_cast<size_t>(nodes));
  for (size_t n = 0; n < hosts.size(); ++n)
    if (std::erase(recorded, fmt::format("node{}", n)) > 0) hosts[n] = fmt::format("node{}", n);
  auto free = hosts.begin();
  for (std::string& host : recorded) {
    free = std::ranges::find(free, hosts.end(), std::string());
    *free = std::move(host);
  }
  return hosts;
}

/// Whether readers took the name of its file for its host, as the file names none.
bool is_file(const std::vector<DeviceReport>& devices, const std::string& host) {
  return std::ranges::any_of(devices, [&](const DeviceReport& it) {
    return it.kind == run::DeviceKind::kGpu && it.host == host && it.file == host;
  });
}

double mean_of(const std::optional<analysis::Levels>& levels) { return levels ? levels->mean : 0; }

BoardReading reading_of(const DeviceReport& it, int64_t node, int64_t gpu) {
  return {.host = it.host,
          .node = node,
          .gpu = gpu,
          .power_w = it.has_power ? it.mean_w : 0,
          .die_c = mean_of(it.gpu_c),
          .clock_mhz = mean_of(it.sm_clock_mhz),
          .limit_w = mean_of(it.power_limit_w),
          .power_error = 0,
          .die_error_k = 0,
          .clock_error = 0,
          .few_power = 0,
          .few_die = 0,
          .few_clock = 0,
          .warmer_k = {}};
}

/// How far the means may be off by sampling; those of too few readings are none.
void add_errors(const run::Device& device, const DeviceReport& report, BoardReading& into) {
  const auto error_of = [&](std::optional<run::Metric> metric, double& mean,
                            size_t& few) -> double {
    const run::Series* series = metric ? device.find(*metric) : nullptr;
    if (series == nullptr || !(mean > 0)) return 0;
    if (series->samples.size() < kFewestReadings) {
      mean = 0;
      few = series->samples.size();
    }
    return sampling_error(series->samples);
  };
  into.power_error = error_of(run::metric_of(report.power_metric), into.power_w, into.few_power);
  into.die_error_k = error_of(run::temperature_metric(device), into.die_c, into.few_die);
  into.clock_error = error_of(run::Metric::kSmClock, into.clock_mhz, into.few_clock);
  if (into.power_w > 0) into.power_error /= into.power_w;
  if (into.clock_mhz > 0) into.clock_error /= into.clock_mhz;
}

std::pair<int64_t, int64_t> place_of_reading(const BoardReading& it) { return {it.node, it.gpu}; }

/// One a GPU, where several files read it: of every number the first.
std::vector<BoardReading> merged(const std::vector<BoardReading>& readings) {
  std::vector<BoardReading> gpus;
  for (const BoardReading& it : readings) {
    if (gpus.empty() || place_of_reading(gpus.back()) != place_of_reading(it)) {
      gpus.push_back(it);
      continue;
    }
    const auto take = [&](double BoardReading::* mean, double BoardReading::* error,
                          size_t BoardReading::* few) {
      if (gpus.back().*mean > 0) return;
      gpus.back().*mean = it.*mean;
      gpus.back().*error = it.*error;
      gpus.back().*few = std::max(gpus.back().*few, it.*few);
    };
    take(&BoardReading::power_w, &BoardReading::power_error, &BoardReading::few_power);
    take(&BoardReading::die_c, &BoardReading::die_error_k, &BoardReading::few_die);
    take(&BoardReading::clock_mhz, &BoardReading::clock_error, &BoardReading::few_clock);
    if (gpus.back().limit_w <= 0) gpus.back().limit_w = it.limit_w;
  }
  return gpus;
}

/// `hosts`: by node; empty: recorded by rank.
Result<std::vector<BoardReading>> gpus_of(const run::DeviceLog& log,
                                          const std::vector<DeviceReport>& devices,
                                          const std::vector<std::string>& hosts,
                                          const spec::Job& job, const std::string& name) {
  const int64_t per_node = job.cluster.node.gpus;
  const bool by_rank = hosts.empty();
  std::vector<BoardReading> gpus;
  std::map<std::string, int64_t> counted;
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceReport& it = devices[i];
    if (it.kind != run::DeviceKind::kGpu) continue;
    const int64_t index = it.index < 0 ? counted[it.host]++ : it.index;
    const int64_t number = by_rank ? it.rank : index, most = by_rank ? job.gpus : per_node;
    if (number < 0 || number >= most)
      return input_error("{}: found GPU {}{}{}; allowed: 0 to {}, which the job has", name, number,
                         by_rank ? "" : " of ", it.host, most - 1);
    const int64_t at = by_rank ? job.parallelism.gpu_of(number) : index;
    const auto host = std::ranges::find(hosts, it.host) - hosts.begin();
    if (!by_rank && host == std::ssize(hosts))
      return input_error("{}: found GPUs of {}; allowed: of {}, which --hosts names", name, it.host,
                         fmt::join(hosts, ", "));
    gpus.push_back(reading_of(it, by_rank ? at / per_node : host, at % per_node));
    add_errors(log.devices[i], it, gpus.back());
  }
  std::ranges::stable_sort(gpus, {}, place_of_reading);
  return merged(gpus);
}

/// How much warmer every GPU is than in as long a stretch before.
void add_warmer(const run::DeviceLog& log, const analysis::LoggedSteps& steps, const spec::Job& job,
                const std::vector<std::string>& hosts, BoardReadings& into) {
  const run::DeviceLog earlier =
      run::readings_within(log, 2 * steps.start_ns - steps.end_ns, steps.start_ns);
  const auto before =
      gpus_of(earlier, analysis::analyze_telemetry(earlier).devices, hosts, job, "");
  if (!before) return;
  for (const BoardReading& was : *before)
    for (BoardReading& is : into.gpus)
      if (is.node == was.node && is.gpu == was.gpu && is.die_c > 0 && was.die_c > 0)
        is.warmer_k = is.die_c - was.die_c;
}

std::string gpus_text(int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

/// GPUs that do not run the job's kernels tell nothing of how they would.
Result<int64_t> leave_out_resting(const spec::Job& job, BoardReadings& readings) {
  ERGOMETER_ASSIGN(const physics::GpuPower power, physics::gpu_power(job.cluster.node.gpu));
  constexpr double kMegahertz = 1e6;
  const int64_t resting = std::erase_if(readings.gpus, [&](const BoardReading& it) {
    return it.clock_mhz > 0 && it.clock_mhz * kMegahertz < power.clocks.lowest_hz;
  });
  if (resting > 0)
    readings.notes.push_back(
        fmt::format("anything of {}: below {:.0f} MHz, its lowest clock at work",
                    gpus_text(resting), power.clocks.lowest_hz / kMegahertz));
  return resting;
}

/// What is missing of so many GPUs; `heat_dropped`: temperatures that had not settled are told of.
void note_missing(int64_t gpus, bool heat_dropped, BoardReadings& readings) {
  const auto note = [&](int64_t count, const char* what, const std::string& why) {
    if (count > 0)
      readings.notes.push_back(fmt::format("{} of {}: {}", what, gpus_text(count), why));
  };
  const auto lack = [&](const char* what, double BoardReading::* mean, size_t BoardReading::* few) {
    int64_t none = 0, scarce = 0;
    size_t most = 0;
    for (const BoardReading& it : readings.gpus) {
      if (it.*mean > 0) continue;
      ++(it.*few > 0 ? scarce : none);
      most = std::max(most, it.*few);
    }
    note(none, what, "not recorded");
    note(scarce, what,
         fmt::format("read {}; a mean takes {}: record for longer or more often",
                     most == 1 ? "once" : fmt::format("{} times", most), kFewestReadings));
  };
  note(gpus - std::ssize(readings.gpus), "anything", "not recorded");
  lack("power", &BoardReading::power_w, &BoardReading::few_power);
  if (!heat_dropped) lack("temperature", &BoardReading::die_c, &BoardReading::few_die);
  lack("clock", &BoardReading::clock_mhz, &BoardReading::few_clock);
}

/// What temperatures are off for they had not settled is an error, or too much: whether it is.
bool add_unsettled(double off_k, BoardReadings& readings) {
  const bool too_much = off_k > kMostOff;
  for (BoardReading& it : readings.gpus) {
    it.die_error_k = std::hypot(it.die_error_k, off_k);
    if (too_much) it.die_c = 0;
  }
  if (too_much)
    readings.notes.push_back(
        fmt::format("temperature: had not settled, by about {:.0f} K; record for longer", off_k));
  return too_much;
}

/// Sensors of the air or coolant that enters a node.
void add_inlets(const run::DeviceLog& log, const std::vector<std::string>& nodes,
                BoardReadings& readings) {
  for (const run::Device& device : log.devices) {
    const run::Series* inlet = device.find(run::Metric::kInletTemperature);
    const auto host = std::ranges::find(nodes, device.host);
    if (inlet == nullptr || inlet->samples.empty() || host == nodes.end()) continue;
    const double sum = base::sum(inlet->samples, &run::Sample::value);
    readings.inlets_c[static_cast<size_t>(host - nodes.begin())] =
        sum / static_cast<double>(inlet->samples.size());
  }
}

/// What readings call the job's nodes, by node: empty where they go by rank; their names, and how
/// they were told, into `readings`.
Result<std::vector<std::string>> nodes_of(const std::vector<std::string>& recorded,
                                          const std::vector<DeviceReport>& devices,
                                          const std::vector<std::string>& hosts,
                                          const spec::Job& job, const std::string& name,
                                          BoardReadings& readings) {
  readings.hosts = hosts;
  const auto note = [&](const std::string& how) {
    if (job.nodes() > 1 && hosts.empty())
      readings.notes.push_back(
          fmt::format("which host is which node: {}; --hosts says another", how));
  };
  if (recorded.size() == 1 && recorded.front().empty()) {
    note("no host is named, nodes are taken by rank as node0, node1, ...");
    return std::vector<std::string>();
  }
  if (std::ssize(recorded) > job.nodes())
    return input_error("{}: found GPUs of {} hosts; allowed: of the job's, which has {} node{}",
                       name, recorded.size(), job.nodes(), job.nodes() == 1 ? "" : "s");
  const bool named = std::ranges::none_of(
      recorded, [&](const std::string& host) { return is_file(devices, host); });
  if (named && !hosts.empty()) return hosts;
  std::vector<std::string> nodes = by_node(recorded, job.nodes());
  if (!hosts.empty()) {
    readings.notes.push_back(
        fmt::format("which host is which node: files name none; taken in the order {}",
                    fmt::join(recorded, ", ")));
    return nodes;
  }
  for (const std::string& host : nodes)
    readings.hosts.push_back(is_file(devices, host) ? "" : host);
  for (size_t n = 0; n < nodes.size(); ++n)
    if (readings.hosts[n].empty()) readings.hosts[n] = fmt::format("node{}", n);
  std::vector<std::string> taken;
  for (size_t n = 0; n < nodes.size(); ++n)
    if (!nodes[n].empty())
      taken.push_back(nodes[n] == readings.hosts[n]
                          ? nodes[n]
                          : fmt::format("{} ({})", readings.hosts[n], nodes[n]));
  note(fmt::format("{}taken in the order {}", named ? "" : "files name none, ",
                   fmt::join(taken, ", ")));
  return nodes;
}

}  // namespace

Result<BoardReadings> board_readings(const run::DeviceLog& log, const spec::Job& job,
                                     const std::string& name,
                                     const std::vector<std::string>& hosts) {
  const analysis::LoggedSteps steps = analysis::logged_steps(log);
  const bool timed = steps.end_ns > steps.start_ns;
  const Settled settled =
      settled_part(timed ? run::readings_within(log, steps.start_ns, steps.end_ns) : at_work(log));
  const run::DeviceLog& looked_at = settled.log;
  const auto told = analysis::analyze_telemetry(looked_at);
  BoardReadings readings;
  const std::vector<std::string> recorded = hosts_of(told.devices);
  if (recorded.empty())
    return input_error(
        "{}: found no readings of GPUs{}; allowed: a recording of their power, temperature and "
        "clock",
        name, timed ? " while steps ran" : "");
  ERGOMETER_ASSIGN(const std::vector<std::string> nodes,
                   nodes_of(recorded, told.devices, hosts, job, name, readings));
  ERGOMETER_ASSIGN(readings.gpus, gpus_of(looked_at, told.devices, nodes, job, name));
  ERGOMETER_ASSIGN(const int64_t resting, leave_out_resting(job, readings));
  readings.inlets_c.resize(static_cast<size_t>(job.nodes()));
  add_inlets(looked_at, nodes, readings);
  for (BoardReading& it : readings.gpus)
    it.host = readings.hosts.empty() ? "" : readings.hosts[static_cast<size_t>(it.node)];
  if (settled.part > 1)
    readings.notes.push_back(
        fmt::format("all but the last {} of the readings: temperatures had not settled",
                    settled.part == 2 ? "half" : "quarter"));
  if (!settled.short_of.empty()) readings.notes.push_back(settled.short_of);
  const bool heat_dropped = add_unsettled(settled.off_k, readings);
  if (timed) add_warmer(log, steps, job, nodes, readings);
  if (!timed && log.source != "simulated")
    readings.notes.emplace_back(
        "when steps ran: no training log says; GPUs were taken to run them while they drew power");
  note_missing(job.gpus - resting, heat_dropped, readings);
  return readings;
}

}  // namespace ergometer::calibration::twin
