#include "analysis/tell.h"

#include "analysis/findings/job_findings.h"
#include "analysis/findings/run_findings.h"
#include "analysis/work/attribution.h"

namespace ergometer::analysis {
namespace {

/// Parts of a device's energy are off by its sensor's gain as the whole is.
void take_gain(const TelemetryReport& power, size_t device, run::EnergyError& error) {
  if (device >= power.devices.size()) return;
  const double unseen = error.unseen;
  error = power.devices[device].error;
  error.unseen = unseen;
}

}  // namespace

Told tell(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log, Beside beside,
          size_t threads) {
  Told told;
  told.power = analyze_telemetry(log, !ranks.empty());
  told.job = report_job(ranks, log);
  for (RankEnergy& energy : beside.energy) {
    if (!energy.number) continue;
    take_gain(told.power, *energy.number, energy.error);
    take_gain(told.power, *energy.number, energy.step_error);
  }
  for (StepEnergy& energy : told.job.step_energies)
    take_gain(told.power, energy.number, energy.error);
  told.summary = summarize(ranks, std::move(beside), threads);
  add_job_findings(told.job, told.power, told.summary);
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
