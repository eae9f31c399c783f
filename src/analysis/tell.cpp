#include "analysis/tell.h"

#include "analysis/findings/job_findings.h"
#include "analysis/findings/run_findings.h"
#include "analysis/work/attribution.h"

namespace ergometer::analysis {

Told tell(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log, Beside beside,
          size_t threads) {
  Told told;
  told.power = analyze_telemetry(log, !ranks.empty());
  told.job = report_job(ranks, log);
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
