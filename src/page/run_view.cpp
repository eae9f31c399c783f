#include "page/run_view.h"

#include <algorithm>
#include <utility>

namespace ergometer::page {
namespace {

analysis::RankLayout layout_of(const report::JobView& job) {
  const auto one = [](int64_t degree) { return std::max<int64_t>(degree, 1); };
  return {one(job.tp), one(job.cp), one(job.dp), one(job.pp), one(job.ep)};
}

}  // namespace

RunView look_at(NamedRun& named, const DocumentOptions& options) {
  run::Run& run = named.run;
  RunView view;
  view.named = &named;
  view.simulated = run.source == "simulated" && run.traces.empty();
  view.job = report::view_job(run.job_json);
  if (view.simulated) {
    analysis::ToldOfRun told = analysis::tell_simulated(run, layout_of(view.job));
    view.traces = std::move(told.traces);
    view.log = std::move(told.log);
    view.told = std::move(told.told);
    return view;
  }
  view.log = run::device_log(run);
  view.traces = std::move(run.traces);
  analysis::Beside beside;
  if (options.peak_of) beside.peak = options.peak_of(view.traces);
  if (!view.log.devices.empty()) beside.energy = analysis::energy_of(view.traces, view.log);
  view.told = analysis::tell(view.traces, view.log, std::move(beside));
  view.told.summary.graphs = analysis::summarize_graphs(run.graphs);
  return view;
}

}  // namespace ergometer::page
