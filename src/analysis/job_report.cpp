#include "analysis/job_report.h"

#include <algorithm>

#include "analysis/pipeline_tasks.h"

namespace ergometer::analysis {
namespace {

double clock_seconds(const run::DeviceLog& log) {
  double longest = 0;
  for (const run::Device& device : log.devices) {
    const run::Series* clock = device.find(run::Metric::kSmClock);
    if (clock == nullptr || clock->samples.empty()) continue;
    const int64_t ns = clock->samples.back().time_ns - clock->samples.front().time_ns;
    longest = std::max(longest, static_cast<double>(ns) * 1e-9);
  }
  return longest;
}

}  // namespace

JobReport report_job(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log) {
  JobReport report;
  const GroupLabels labels = label_groups(ranks);
  const MatchedCollectives collectives = match_collectives(ranks);
  report.clocks = align_clocks(ranks, collectives);
  report.path = critical_path(ranks, event_graph(ranks, collectives, report.clocks, labels));
  report.groups = group_tables(ranks, collectives, report.clocks, labels);
  report.skews = find_stragglers(ranks, collectives, report.clocks, labels, log);
  find_pipeline_tasks(ranks, labels);
  report.pipeline = pipeline_report(ranks);
  report.links = link_use(log);
  report.anomalies = find_anomalies(ranks, log);
  report.swings = power_swings(log);
  report.step_energies = step_energies(ranks, log);
  report.heat = heat_costs(log);
  report.recorded_s = clock_seconds(log);
  return report;
}

}  // namespace ergometer::analysis
