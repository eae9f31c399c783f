#include "calibration/twin/board_readings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/telemetry/telemetry.h"
#include "base/collection.h"

namespace ergometer::calibration::twin {
namespace {

using analysis::DeviceReport;

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

double mean_of(const std::optional<analysis::Levels>& levels) { return levels ? levels->mean : 0; }

BoardReading reading_of(const DeviceReport& it, int64_t node, int64_t gpu) {
  return {.host = it.host,
          .node = node,
          .gpu = gpu,
          .power_w = it.has_power ? it.mean_w : 0,
          .die_c = mean_of(it.gpu_c),
          .clock_mhz = mean_of(it.sm_clock_mhz),
          .limit_w = mean_of(it.power_limit_w),
          .warmer_k = {}};
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
    for (const auto member : {&BoardReading::power_w, &BoardReading::die_c,
                              &BoardReading::clock_mhz, &BoardReading::limit_w})
      if (gpus.back().*member <= 0) gpus.back().*member = it.*member;
  }
  return gpus;
}

Result<std::vector<BoardReading>> gpus_of(const std::vector<DeviceReport>& devices,
                                          const std::vector<std::string>& hosts,
                                          const spec::Job& job, const std::string& name) {
  const int64_t per_node = job.cluster.node.gpus;
  const bool by_rank = hosts.empty() || (hosts.size() == 1 && hosts.front().empty());
  if (!by_rank && std::ssize(hosts) > job.nodes())
    return input_error("{}: found GPUs of {} hosts; allowed: of the job's, which has {} node{}",
                       name, hosts.size(), job.nodes(), job.nodes() == 1 ? "" : "s");
  std::vector<BoardReading> gpus;
  std::map<std::string, int64_t> counted;
  for (const DeviceReport& it : devices) {
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
  }
  std::ranges::stable_sort(gpus, {}, place_of_reading);
  return merged(gpus);
}

/// How much warmer every GPU is than in as long a stretch before.
void add_warmer(const run::DeviceLog& log, const analysis::LoggedSteps& steps, const spec::Job& job,
                const std::vector<std::string>& hosts, BoardReadings& into) {
  const auto earlier = analysis::analyze_telemetry(
      run::readings_within(log, 2 * steps.start_ns - steps.end_ns, steps.start_ns));
  const auto before = gpus_of(earlier.devices, hosts, job, "");
  if (!before) return;
  for (const BoardReading& was : *before)
    for (BoardReading& is : into.gpus)
      if (is.node == was.node && is.gpu == was.gpu && is.die_c > 0 && was.die_c > 0)
        is.warmer_k = is.die_c - was.die_c;
}

/// What is missing of the job's GPUs.
void note_missing(const spec::Job& job, BoardReadings& readings) {
  const auto note = [&](int64_t count, const char* what) {
    if (count > 0)
      readings.notes.push_back(
          fmt::format("{} of {} GPU{}: not recorded", what, count, count == 1 ? "" : "s"));
  };
  const auto lack = [&](double BoardReading::* member) {
    return std::ranges::count_if(readings.gpus,
                                 [&](const BoardReading& it) { return it.*member <= 0; });
  };
  note(job.gpus - std::ssize(readings.gpus), "anything");
  note(lack(&BoardReading::power_w), "power");
  note(lack(&BoardReading::die_c), "temperature");
  note(lack(&BoardReading::clock_mhz), "clock");
}

/// Sensors of the air or coolant that enters a node.
void add_inlets(const run::DeviceLog& log, BoardReadings& readings) {
  for (const run::Device& device : log.devices) {
    const run::Series* inlet = device.find(run::Metric::kInletTemperature);
    const auto host = std::ranges::find(readings.hosts, device.host);
    if (inlet == nullptr || inlet->samples.empty() || host == readings.hosts.end()) continue;
    const double sum = base::sum(inlet->samples, &run::Sample::value);
    readings.inlets_c[static_cast<size_t>(host - readings.hosts.begin())] =
        sum / static_cast<double>(inlet->samples.size());
  }
}

}  // namespace

Result<BoardReadings> board_readings(const run::DeviceLog& log, const spec::Job& job,
                                     const std::string& name,
                                     const std::vector<std::string>& hosts) {
  const analysis::LoggedSteps steps = analysis::logged_steps(log);
  const bool timed = steps.end_ns > steps.start_ns;
  const run::DeviceLog looked_at =
      timed ? run::readings_within(log, steps.start_ns, steps.end_ns) : log;
  const auto told = analysis::analyze_telemetry(looked_at);
  BoardReadings readings;
  readings.hosts = hosts_of(told.devices);
  if (readings.hosts.empty())
    return input_error(
        "{}: found no readings of GPUs{}; allowed: a recording of their power, temperature and "
        "clock",
        name, timed ? " while steps ran" : "");
  if (!hosts.empty() && !readings.hosts.front().empty()) readings.hosts = hosts;
  ERGOMETER_ASSIGN(readings.gpus, gpus_of(told.devices, readings.hosts, job, name));
  readings.inlets_c.resize(static_cast<size_t>(job.nodes()));
  add_inlets(looked_at, readings);
  if (readings.hosts.front().empty() && readings.hosts.size() == 1) readings.hosts.clear();
  if (readings.hosts.size() > 1 && hosts.empty())
    readings.notes.push_back(
        fmt::format("which host is which node: taken in the order {}; --hosts says another",
                    fmt::join(readings.hosts, ", ")));
  if (timed) add_warmer(log, steps, job, readings.hosts, readings);
  if (!timed && log.source != "simulated")
    readings.notes.emplace_back(
        "when steps ran: no training log says; means of the whole recording were taken");
  note_missing(job, readings);
  return readings;
}

}  // namespace ergometer::calibration::twin
