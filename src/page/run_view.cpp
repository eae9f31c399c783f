#include "page/run_view.h"

#include <algorithm>
#include <utility>

#include "analysis/simulated_traces.h"

namespace ergometer::page {
namespace {

analysis::RankLayout layout_of(const report::JobView& job) {
  const auto one = [](int64_t degree) { return std::max<int64_t>(degree, 1); };
  return {one(job.tp), one(job.cp), one(job.dp), one(job.pp), one(job.ep)};
}

/// A window of a step would read as a step of mostly idle GPUs.
std::vector<run::RankTrace> without_events(std::vector<run::RankTrace> traces) {
  for (run::RankTrace& trace : traces) {
    trace.events.clear();
    trace.collectives.clear();
  }
  return traces;
}

}  // namespace

RunView look_at(NamedRun& named, const DocumentOptions& options) {
  run::Run& run = named.run;
  RunView view;
  view.named = &named;
  view.simulated = run.source == "simulated" && run.traces.empty();
  view.job = report::view_job(run.job_json);
  view.log = run::device_log(run);
  if (view.simulated) {
    view.traces = analysis::simulated_traces(run, layout_of(view.job));
    std::vector<run::RankTrace> told_of =
        run.kernels_to_ns > 0 ? without_events(view.traces) : view.traces;
    view.told = analysis::tell(told_of, view.log);
    return view;
  }
  view.traces = std::move(run.traces);
  analysis::Beside beside;
  if (options.peak_of) beside.peak = options.peak_of(view.traces);
  if (!view.log.devices.empty()) beside.energy = analysis::energy_of(view.traces, view.log);
  view.told = analysis::tell(view.traces, view.log, std::move(beside));
  view.told.summary.graphs = analysis::summarize_graphs(run.graphs);
  return view;
}

}  // namespace ergometer::page
