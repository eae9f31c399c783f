#include "base/collection.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "report/decision/together_output.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using together::JobBeside;
using together::Together;

void write_uplinks(JsonWriter& json, const JobBeside& job, const Together& of) {
  json.rows("uplinks", job.tiers, [&](const together::TierUse& use) {
    json.member("tier", use.tier).member("pcie", use.is_pcie).member("load", use.load);
    json.member("busy_fraction", use.busy_s / job.step_s);
    json.member("load_factor", use.share);
    json.list("beside", base::mapped(use.with, [&](size_t other) { return of.jobs[other].name; }));
  });
}

void write_jobs_beside(JsonWriter& json, const Together& of) {
  json.objects("jobs", of.jobs, [&](const JobBeside& job) {
    json.member("name", job.name).member("gpus", job.gpus);
    json.member("nodes", base::ranges_text(job.place.nodes));
    json.known("gpus_of_node", base::ranges_text(job.place.gpus)).member("fits", job.fits);
    json.member("alone_step_time_s", job.alone_step_s);
    json.member("placed_step_time_s", job.placed_step_s);
    json.member("warmed_step_time_s", job.warmed_step_s);
    json.member("step_time_s", job.step_s);
    if (of.meets_on_switches) {
      json.member("slower_pct", 100 * job.slower());
    } else {
      json.member("step_time_s_high", job.most_step_s).key("slower_pct").null();
      json.member("slower_pct_high", 100 * job.slower_at_most());
    }
    const together::TierUse* by = job.slowed_by();
    json.known("slowed_by", by == nullptr ? "" : by->tier);
    if (of.has_power) {
      json.member("mean_w", job.mean_w).member("peak_w", job.peak_w);
      json.member("alone_max_gpu_c", job.alone_max_c);
      json.member("placed_max_gpu_c", job.placed_max_c).member("max_gpu_c", job.max_c);
    }
    json.list("on_node",
              base::mapped(job.on_node, [&](size_t other) { return of.jobs[other].name; }));
    write_uplinks(json, job, of);
  });
}

}  // namespace

std::string together_json(const Together& of) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("cluster", of.cluster).member("placement", of.placement);
  json.member("nodes", of.nodes());
  if (of.cluster_nodes > 0) json.member("cluster_nodes", of.cluster_nodes);
  json.member("fits", of.fits()).member("follows_links", of.meets_on_switches);
  write_jobs_beside(json, of);
  if (of.has_power) {
    json.member("mean_w", of.mean_w).member("worst_peak_w", of.worst_peak_w);
    json.member("likely_peak_w", of.likely_peak_w);
  }
  if (of.feed) {
    json.key("feed").begin_object().member("limit_w", of.feed->limit_w);
    json.member("holds", of.feed->holds());
    json.member("exceeded_fraction", of.feed->exceeded_fraction);
    json.member("excess_w", of.feed->excess_w);
    json.member("excess_w_per_gpu", of.feed->excess_w_per_gpu);
    json.member("caps_can_hold", of.feed->caps_can_hold).end_object();
  }
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
