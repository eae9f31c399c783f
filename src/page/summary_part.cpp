#include "page/run_part.h"
#include "report/measured/telemetry_json.h"
#include "report/measured/trace_json.h"
#include "report/summary/summary_json.h"

namespace ergometer::page {
namespace {

using base::JsonWriter;

void write_recorded_links(JsonWriter& json, const RunView& view, double steps) {
  if (view.told.job.links.empty()) return;
  json.rows("links", view.told.job.links, [&](const analysis::LinkUse& link) {
    json.member("kind", link.kind);
    json.member("direction", link.direction).member("devices", link.devices);
    json.member("bytes", link.bytes);
    if (steps > 0) json.member("bytes_per_step", link.bytes / steps);
    json.member("mean_gb_per_s", link.mean_gb_per_s).member("peak_gb_per_s", link.peak_gb_per_s);
    json.known("utilization", link.utilization);
    json.known("saturated_fraction", link.saturated_fraction).member("partial", link.partial);
  });
}

void write_texts(JsonWriter& json, const RunView& view) {
  const run::Run& run = view.run();
  if (!run.facts.empty()) json.object("facts", run.facts);
  if (!view.log.notes.empty()) json.list("notes", view.log.notes);
}

/// As far as traces and telemetry tell it.
void write_recorded(JsonWriter& json, const RunView& view) {
  const run::Run& run = view.run();
  const analysis::Told& told = view.told;
  json.member("schema_version", run::kSchemaVersion).member("source", run.source);
  if (told.summary.performance) report::write_trace_performance(json, *told.summary.performance);
  report::write_power_summary(json, told.power);
  write_recorded_links(json, view, analysis::marked_steps(told.summary));
  json.known("limiter", run.limiter);
  if (!run.job_json.empty()) json.key("job").raw(run.job_json);
  write_texts(json, view);
}

}  // namespace

void write_summary_part(JsonWriter& json, const RunView& view) {
  json.key("summary").begin_object();
  if (view.simulated)
    report::write_summary(json, view.run(), report::PowerOverTime::kLeaveOut);
  else
    write_recorded(json, view);
  json.end_object();
}

}  // namespace ergometer::page
