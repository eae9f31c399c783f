#include "report/summary/summary_json.h"

#include "base/json_writer.h"
#include "report/summary/given_collectives.h"
#include "report/summary/power_json.h"
#include "report/summary/summary_members.h"
#include "run/summary_fields.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

void write_performance(JsonWriter& json, const run::Run& run) {
  json.key("performance").begin_object();
  write_fields(json, run, "performance.");
  json.list("interval_reasons", run.performance.interval_reasons);
  if (const std::vector<std::string> uses = given_collectives(run); !uses.empty())
    json.list("given_collectives", uses);
  json.key("breakdown_s").begin_object();
  write_fields(json, run, "performance.breakdown_s.");
  json.end_object();
  json.end_object();
}

void write_stage(JsonWriter& json, const run::StageMemory& stage) {
  write_members(json, stage, run::kStageColumns);
  json.object("parts", stage.parts, base::kOneLine);
}

void write_memory(JsonWriter& json, const run::Run& run) {
  json.key("memory").begin_object();
  write_fields(json, run, "memory.");
  json.known("advice", run.memory.advice);
  json.objects("stages", run.memory.stages, write_stage);
  json.end_object();
}

void write_rank(JsonWriter& json, const run::Rank& rank, bool has_power) {
  write_members(json, rank, run::kRankColumns);
  if (has_power) write_members(json, rank, run::kRankPowerColumns);
  json.member("end_s", rank.end_s).key("breakdown_s").begin_object();
  write_members(json, rank.breakdown_s, run::kBreakdownColumns);
  json.end_object();
}

}  // namespace

void write_fields(JsonWriter& json, const run::Run& run, std::string_view prefix) {
  for (const run::SummaryField& field : run::summary_fields()) {
    if (!field.name.starts_with(prefix) || !run::is_known(field, run)) continue;
    const std::string_view name = field.name.substr(prefix.size());
    if (name.find('.') != std::string_view::npos) continue;
    json.key(name);
    if (field.name == "memory.fits") {
      json.value(run.memory.fits);
    } else {
      json.value(field.get(run));
    }
  }
}

void write_summary(JsonWriter& json, const run::Run& run, PowerOverTime power) {
  json.member("schema_version", run::kSchemaVersion).member("source", run.source);
  write_performance(json, run);
  write_memory(json, run);
  write_power(json, run, power);
  if (!run.experts.empty()) write_records(json, "experts", run.experts, run::kExpertColumns);
  if (!run.sequences.empty())
    write_records(json, "sequences", run.sequences, run::kSequenceColumns);
  if (!run.packing.empty()) write_records(json, "packing", run.packing, run::kPackingColumns);
  if (!run.gpu_kinds.empty()) write_records(json, "gpu_kinds", run.gpu_kinds, run::kGpuKindColumns);
  json.objects("links", run.links,
               [&](const run::Link& link) { write_members(json, link, run::kLinkColumns); });
  json.member("limiter", run.limiter);
  json.key("job").raw(run.job_json.empty() ? "{}" : run.job_json);
}

std::string summary_json(const run::Run& run, bool ranks, const std::string& explanation,
                         const std::optional<compare::TrainedApart>& trained) {
  JsonWriter json;
  json.begin_object();
  write_summary(json, run);
  if (ranks) {
    json.rows("ranks", run.ranks,
              [&](const run::Rank& rank) { write_rank(json, rank, run.has_power); });
  }
  if (trained) {
    json.key("stages_trained_apart").begin_object();
    json.member("step_time_s", trained->apart_s)
        .member("together_step_time_s", trained->together_s)
        .member("mean_step_time_s", trained->mean_s())
        .member("together_peak_bytes", trained->together_peak_bytes)
        .member("together_fits", trained->together_fits);
    json.end_object();
  }
  if (!explanation.empty()) json.key("explain").raw(explanation);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
