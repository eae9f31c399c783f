#include "analysis/tell.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "analysis/findings/job_findings.h"
#include "analysis/findings/run_findings.h"
#include "analysis/telemetry/moment.h"
#include "analysis/work/attribution.h"

namespace ergometer::analysis {
namespace {

/// What a part of a device's energy is off by the gain of its sensor: where the same sensor tells
/// the whole, as that is. Of a simulated device nothing is.
void take_gain(const run::Device& device, const DeviceReport& whole, std::string_view metric,
               run::EnergyError& error) {
  if (metric.empty() || !whole.error.stated) return;
  const std::string_view way =
      metric == run::metric_info(run::Metric::kEnergy).name ? "counter" : metric;
  const bool same =
      way == (whole.energies.empty() ? whole.power_metric : whole.energies.front().way);
  const double unseen = error.unseen;
  error = same ? whole.error : run::gain_of(run::sensor_facts(device, way));
  error.unseen = unseen;
}

void take_gains(const run::DeviceLog& log, const TelemetryReport& power,
                std::vector<RankEnergy>& ranks, std::vector<StepEnergy>& steps) {
  const auto take = [&](size_t number, std::string_view metric, run::EnergyError& error) {
    take_gain(log.devices[number], power.devices[number], metric, error);
  };
  for (RankEnergy& energy : ranks) {
    if (!energy.number) continue;
    take(*energy.number, energy.metric, energy.error);
    take(*energy.number, energy.metric, energy.step_error);
  }
  for (StepEnergy& energy : steps)
    take(energy.number, run::metric_info(energy.metric).name, energy.error);
}

/// The earliest and the latest of times; none where the first is behind the second.
struct Times {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  void add(int64_t from_ns, int64_t to_ns) {
    first_ns = std::min(first_ns, from_ns);
    last_ns = std::max(last_ns, to_ns);
  }
  bool any() const { return first_ns <= last_ns; }
};

Times times_of(const std::vector<run::RankTrace>& ranks) {
  Times times;
  for (const run::RankTrace& trace : ranks)
    for (const run::GpuEvent& event : trace.events)
      times.add(trace.base_time_ns + event.start_ns, trace.base_time_ns + event.end_ns());
  return times;
}

Times times_of(const run::DeviceLog& log) {
  Times times;
  for (const run::Device& device : log.devices)
    for (const run::Series& series : device.series)
      if (!series.samples.empty())
        times.add(series.samples.front().time_ns, series.samples.back().time_ns);
  return times;
}

/// Telemetry of another time than the traces' tells nothing about them: of another run, or of a
/// clock that is not UTC.
void note_apart(const std::vector<run::RankTrace>& ranks, const run::DeviceLog& log,
                TraceSummary& summary) {
  const Times events = times_of(ranks), readings = times_of(log);
  if (!events.any() || !readings.any()) return;
  if (readings.first_ns <= events.last_ns && events.first_ns <= readings.last_ns) return;
  const bool alike = is_date(readings.first_ns) == is_date(events.first_ns);
  summary.notes.push_back(fmt::format(
      "the telemetry is of another time ({} on) than the traces ({} on): nothing of it is laid "
      "beside them. {}",
      format_moment(readings.first_ns), format_moment(events.first_ns),
      alike ? "A time without zone is read as UTC, and nvidia-smi writes local time"
            : "One of the two counts from its own beginning and tells no date"));
}

}  // namespace

Told tell(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log, Beside beside,
          size_t threads) {
  Told told;
  told.power = analyze_telemetry(log, !ranks.empty());
  told.job = report_job(ranks, log);
  take_gains(log, told.power, beside.energy, told.job.step_energies);
  told.summary = summarize(ranks, std::move(beside), threads);
  add_job_findings(told.job, told.power, told.summary);
  note_apart(ranks, log, told.summary);
  return told;
}

ToldOfRun tell_simulated(const run::Run& run, const RankLayout& layout) {
  ToldOfRun result{
      .traces = simulated_traces(run, layout), .log = run::device_log(run), .told = {}};
  result.told = tell(result.traces, result.log);
  result.told.summary.findings = run_findings(run);
  return result;
}

std::vector<RankEnergy> energy_of(const std::vector<run::RankTrace>& ranks,
                                  const run::DeviceLog& log) {
  const std::vector<Attribution> attributions(ranks.begin(), ranks.end());
  return kernel_energy(ranks, attributions, log);
}

}  // namespace ergometer::analysis
