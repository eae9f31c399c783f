#include "analysis/findings/job_report.h"

#include <algorithm>

#include "analysis/ranks/pipeline_tasks.h"
#include "analysis/telemetry/time_gaps.h"
#include "analysis/work/round_trips.h"
#include "base/collection.h"

namespace ergometer::analysis {
namespace {

double clock_seconds(const run::DeviceLog& log) {
  double longest = 0;
  for (const run::Device& device : log.devices) {
    const run::Series* clock = device.find(run::Metric::kSmClock);
    if (clock == nullptr || clock->samples.empty()) continue;
    const TimeSpan whole{clock->samples.front().time_ns, clock->samples.back().time_ns};
    longest = std::max(longest, recorded_s(whole, gaps_in(clock->samples)));
  }
  return longest;
}

/// What a straggler costs the whole job, not its group alone.
void price_stragglers(const std::vector<run::RankTrace>& ranks, const EventGraph& graph,
                      JobReport& report) {
  for (GroupSkew& skew : report.skews) {
    const bool computes = skew.cause == LateCause::kCompute;
    if (!computes && skew.cause != LateCause::kLaunch) continue;
    const auto trace = std::ranges::find(ranks, skew.rank, &run::RankTrace::rank);
    Replay replay{.faster_rank = static_cast<size_t>(trace - ranks.begin())};
    if (computes) {
      replay.paces = skew.paces;
    } else {
      replay.leads = skew.leads;
    }
    const int64_t saved = report.path.span_ns - replayed_span(graph, replay);
    // Where launches are not recorded, nothing comes sooner.
    if (computes || saved > 0) skew.saved_if_equal_ns = std::max<int64_t>(0, saved);
  }
}

}  // namespace

JobReport report_job(std::vector<run::RankTrace>& ranks, const run::DeviceLog& log) {
  JobReport report;
  const GroupLabels labels = label_groups(ranks);
  const MatchedCollectives collectives = match_collectives(ranks);
  report.clocks = align_clocks(ranks, collectives);
  const EventGraph graph =
      event_graph(ranks, collectives, report.clocks, labels, base::mapped(ranks, &handed_over_ns));
  report.path = critical_path(ranks, graph);
  report.taxes = replayed_taxes(graph);
  report.groups = group_tables(ranks, collectives, report.clocks, labels);
  report.exchanges = exchange_loads(ranks, collectives);
  report.skews = find_stragglers(ranks, collectives, report.clocks, labels, log);
  price_stragglers(ranks, graph, report);
  report.slow = find_slow_ranks(ranks, report.exchanges, graph, log);
  find_pipeline_tasks(ranks, labels);
  report.pipeline = pipeline_report(ranks);
  report.links = link_use(log);
  report.anomalies = find_anomalies(ranks, log);
  report.swings = power_swings(log, !ranks.empty());
  report.step_energies = step_energies(ranks, log);
  report.heat = heat_costs(log, !ranks.empty());
  report.recorded_s = clock_seconds(log);
  return report;
}

}  // namespace ergometer::analysis
