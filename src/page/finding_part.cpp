#include "page/run_part.h"
#include "report/measured/energy_error_output.h"

namespace ergometer::page {
void write_findings_part(base::JsonWriter& json, const RunView& view) {
  json.objects("findings", view.told.summary.findings, [&](const analysis::Finding& f) {
    json.member("text", f.what).known("advice", f.try_next);
    if (f.step_s && *f.step_s > 0) json.member("cost_s", *f.step_s);
    if (f.step_j && *f.step_j > 0) {
      json.member("cost_j", *f.step_j);
      report::write_error(json, "cost_j_error_pct", f.watts_error);
    }
    json.member("name", f.name).member("fraction", f.fraction);
    json.known("check", f.check).member("confidence", f.confidence);
  });
}

}  // namespace ergometer::page
