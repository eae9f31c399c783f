#include "analysis/run_findings.h"
#include "page/run_part.h"

#include <algorithm>

namespace ergometer::page {
namespace {

using analysis::Finding;
using base::JsonWriter;

/// A simulated Run is known as a whole: what findings cost is told of all its GPUs.
void price(const run::Run& run, int64_t gpus, std::vector<Finding>& findings) {
  for (Finding& f : findings) {
    f.step_s = f.fraction * run.performance.step_time_s;
    f.step_j.reset();
    if (run.has_power) f.step_j = *f.step_s * run.power.mean_w_per_gpu * static_cast<double>(gpus);
  }
}

std::vector<Finding> findings_of(const RunView& view) {
  std::vector<Finding> findings = view.told.summary.findings;
  if (!view.simulated) return findings;
  const run::Run& run = view.run();
  if (run.kernels_to_ns > 0 || run.kernels.empty()) {
    const std::vector<Finding> more = analysis::run_findings(run);
    findings.insert(findings.end(), more.begin(), more.end());
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return a.fraction > b.fraction; });
  }
  price(run, view.job.gpus, findings);
  return findings;
}

}  // namespace

void write_findings_part(JsonWriter& json, const RunView& view) {
  json.key("findings").begin_array();
  for (const Finding& f : findings_of(view)) {
    json.begin_object().member("text", f.what);
    if (!f.try_next.empty()) json.member("advice", f.try_next);
    if (f.step_s && *f.step_s > 0) json.member("cost_s", *f.step_s);
    if (f.step_j && *f.step_j > 0) json.member("cost_j", *f.step_j);
    json.member("name", f.name).member("fraction", f.fraction);
    if (!f.check.empty()) json.member("check", f.check);
    json.member("confidence", f.confidence).end_object();
  }
  json.end_array();
}

}  // namespace ergometer::page
