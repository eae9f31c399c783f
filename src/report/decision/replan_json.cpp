#include "base/json_writer.h"
#include "report/decision/replan_output.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;
using campaign::ReplanPlay;

void write_replan_play(JsonWriter& json, std::string_view name, const ReplanPlay& played) {
  json.key(name).begin_object(base::kOneLine);
  json.member("step_time_s", played.step_s).member("max_gpu_c", played.max_c);
  json.member("throttled_time_fraction", played.throttled_fraction);
  json.member("cluster_mean_w", played.cluster_w).member("shutdown_gpus", played.shutdown_gpus);
  json.objects("caps", played.caps.gpus, [&](const optimize::GpuSetting& gpu) {
    json.member("node", gpu.node).member("gpu", gpu.gpu).member("power_cap_w", gpu.cap_w);
  });
  json.end_object();
}

void write_replan_stretches(JsonWriter& json, const campaign::Replan& replan) {
  json.objects("stretches", replan.stretches, [&](const campaign::ReplanStretch& it) {
    json.member("from_s", it.from_s).member("to_s", it.to_s).list("changes", it.changes);
    write_replan_play(json, "as_it_is", it.unchanged);
    json.member("layout_before", it.before);
    write_replan_play(json, "kept", it.kept);
    json.member("layout_proposed", it.proposed);
    write_replan_play(json, "proposed", it.proposed_play);
    json.member("gain_pct", it.gain_pct()).member("break_even_s", it.break_even_s);
    json.member("decision", campaign::to_word(it.does)).member("layout", it.after());
  });
}

}  // namespace

std::string replan_json(const campaign::Replan& replan) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("model", replan.job.model.name).member("cluster", replan.job.cluster.name);
  json.member("gpus", replan.job.gpus).member("length_s", replan.length_s);
  json.member("restart_s", replan.restart_s).member("restart_given", replan.restart_given);
  json.array("layouts", replan.layouts, [&](const campaign::ReplanLayout& layout) {
    json.begin_object().list("changes", layout.changes).end_object();
  });
  write_replan_stretches(json, replan);
  json.rows("totals", replan.totals, [&](const campaign::ReplanTotal& total) {
    json.member("plan", total.plan).member("steps", total.steps).member("tokens", total.tokens);
    json.member("transient_tokens", total.transient_tokens);
    json.member("energy_j", total.energy_j).member("restarts", total.restarts);
    json.list("layouts", total.layouts);
  });
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
