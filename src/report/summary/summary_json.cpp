#include "report/summary/summary_json.h"

#include "base/json_writer.h"
#include "report/summary/power_json.h"
#include "report/summary/summary_members.h"
#include "run/summary_fields.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

void write_performance(JsonWriter& json, const run::Run& run) {
  json.key("performance").begin_object();
  write_fields(json, run, "performance.");
  json.key("interval_reasons").begin_array();
  for (const std::string& reason : run.performance.interval_reasons) json.value(reason);
  json.end_array();
  json.key("breakdown_s").begin_object();
  write_fields(json, run, "performance.breakdown_s.");
  json.end_object();
  json.end_object();
}

void write_stage(JsonWriter& json, const run::StageMemory& stage) {
  json.begin_object();
  json.member("stage", stage.stage);
  json.member("weights_bytes", stage.weights_bytes)
      .member("gradients_bytes", stage.gradients_bytes);
  json.member("optimizer_bytes", stage.optimizer_bytes)
      .member("activations_bytes", stage.activations_bytes);
  json.member("other_bytes", stage.other_bytes);
  json.key("parts").begin_object(JsonWriter::Layout::kOneLine);
  for (const run::MemoryPart& part : stage.parts) json.member(part.name, part.bytes);
  json.end_object();
  json.end_object();
}

void write_memory(JsonWriter& json, const run::Run& run) {
  json.key("memory").begin_object();
  write_fields(json, run, "memory.");
  if (!run.memory.advice.empty()) json.member("advice", run.memory.advice);
  json.key("stages").begin_array();
  for (const run::StageMemory& stage : run.memory.stages) write_stage(json, stage);
  json.end_array();
  json.end_object();
}

void write_links(JsonWriter& json, const run::Run& run) {
  json.key("links").begin_array();
  for (const run::Link& link : run.links) {
    json.begin_object();
    json.member("kind", link.kind).member("bytes_per_step", link.bytes_per_step);
    json.member("mean_gb_per_s", link.mean_gb_per_s).member("peak_gb_per_s", link.peak_gb_per_s);
    json.member("utilization", link.utilization);
    json.end_object();
  }
  json.end_array();
}

void write_rank(JsonWriter& json, const run::Rank& rank, bool has_power) {
  const run::Breakdown& b = rank.breakdown_s;
  json.begin_object(JsonWriter::Layout::kOneLine);
  json.member("rank", rank.rank)
      .member("node", rank.node)
      .member("slot", rank.slot)
      .member("stage", rank.stage);
  if (has_power) write_rank_power(json, rank);
  json.member("end_s", rank.end_s).key("breakdown_s").begin_object();
  json.member("compute", b.compute).member("exposed_all_reduce", b.exposed_all_reduce);
  json.member("exposed_all_gather", b.exposed_all_gather)
      .member("exposed_reduce_scatter", b.exposed_reduce_scatter);
  json.member("exposed_all_to_all", b.exposed_all_to_all)
      .member("exposed_send_recv", b.exposed_send_recv);
  json.member("optimizer", b.optimizer).member("idle", b.idle);
  json.end_object();
  json.end_object();
}

void write_experts(JsonWriter& json, const std::vector<run::ExpertRow>& rows) {
  if (rows.empty()) return;
  json.key("experts").begin_array();
  for (const run::ExpertRow& row : rows) {
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("setting", row.setting).member("step_time_s", row.step_time_s);
    json.member("mean_load", row.mean_load).member("most_load", row.most_load);
    json.member("dropped_fraction", row.dropped_fraction)
        .member("peak_memory_bytes", row.peak_memory_bytes);
    json.end_object();
  }
  json.end_array();
}

void write_sequences(JsonWriter& json, const std::vector<run::SequenceRow>& rows) {
  if (rows.empty()) return;
  json.key("sequences").begin_array();
  for (const run::SequenceRow& row : rows) {
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("setting", row.setting).member("step_time_s", row.step_time_s);
    json.member("step_time_s_low", row.step_time_s_low)
        .member("step_time_s_high", row.step_time_s_high);
    json.member("tokens_per_s", row.tokens_per_s).member("padding_fraction", row.padding_fraction);
    json.member("attention_fraction", row.attention_fraction)
        .member("waiting_fraction", row.waiting_fraction);
    json.member("slowest_load", row.slowest_load)
        .member("peak_memory_bytes", row.peak_memory_bytes);
    json.end_object();
  }
  json.end_array();
}

void write_gpu_kinds(JsonWriter& json, const std::vector<run::GpuKind>& rows) {
  if (rows.empty()) return;
  json.key("gpu_kinds").begin_array();
  for (const run::GpuKind& row : rows) {
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("gpu", row.gpu).member("node", row.node).member("gpus", row.gpus);
    json.member("ranks", row.ranks).member("stages", row.stages);
    json.member("compute_s", row.compute_s).member("communication_s", row.communication_s);
    json.member("idle_s", row.idle_s);
    json.end_object();
  }
  json.end_array();
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
  write_experts(json, run.experts);
  write_sequences(json, run.sequences);
  write_gpu_kinds(json, run.gpu_kinds);
  write_links(json, run);
  json.member("limiter", run.limiter);
  json.key("job").raw(run.job_json.empty() ? "{}" : run.job_json);
}

std::string summary_json(const run::Run& run, bool ranks, const std::string& explanation) {
  JsonWriter json;
  json.begin_object();
  write_summary(json, run);
  if (ranks) {
    json.key("ranks").begin_array();
    for (const run::Rank& rank : run.ranks) write_rank(json, rank, run.has_power);
    json.end_array();
  }
  if (!explanation.empty()) json.key("explain").raw(explanation);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
