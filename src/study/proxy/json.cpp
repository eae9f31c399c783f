#include "base/json_writer.h"
#include "report/summary/job_json.h"
#include "study/proxy/output.h"

namespace ergometer::study::proxy {
namespace {

using base::JsonWriter;
using base::kOneLine;

const char* scale_word(Scale scale) {
  if (scale == Scale::kShare) return "share";
  return scale == Scale::kRatio ? "ratio" : "degrees";
}

void write_side(JsonWriter& json, const char* name, const Side& side) {
  json.key(name).begin_object();
  json.member("step_time_s", side.run.performance.step_time_s);
  json.member("tokens_per_s_per_gpu", side.run.performance.tokens_per_s_per_gpu);
  json.member("micro_batches", side.job.micro_batches()).member("nodes", side.job.nodes());
  json.member("fits", side.run.memory.fits);
  json.key("job").raw(report::job_json(side.job));
  json.end_object();
}

void write_group(JsonWriter& json, const char* name, const std::optional<Group>& group) {
  if (!group) return;
  json.key(name).begin_object(kOneLine).member("ranks", group->size);
  json.member("nodes", group->nodes).end_object();
}

void write_row(JsonWriter& json, const Row& row) {
  json.member("name", row.large.name).member("unit", row.large.unit);
  json.member("scale", scale_word(row.large.scale)).member("tolerance", row.large.tolerance);
  json.member("large", row.large.value).member("small", row.small.value);
  json.member("off", row.off).member("kept", row.kept);
  write_group(json, "large_group", row.large.group);
  write_group(json, "small_group", row.small.group);
  if (!row.lost.empty()) json.member("lost", row.lost);
}

void write_job_file(JsonWriter& json, const spec::Settings& settings) {
  json.key("job_file").begin_object();
  for (const auto& [name, value] : settings.all()) json.member(name, value.text);
  json.end_object();
}

}  // namespace

std::string proxy_json(const Proxy& proxy) {
  JsonWriter json;
  json.begin_object().member("schema_version", run::kSchemaVersion);
  json.member("distance", proxy.distance).member("keeps_all", proxy.keeps_all());
  json.rows("rows", proxy.rows, write_row);
  write_side(json, "large", proxy.large);
  write_side(json, "small", proxy.small);
  write_job_file(json, proxy.settings);
  json.list("notes", proxy.notes);
  json.member("estimated", proxy.estimated).member("played", proxy.played);
  return json.end_object().take();
}

}  // namespace ergometer::study::proxy
