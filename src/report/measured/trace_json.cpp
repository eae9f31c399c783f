#include "report/measured/trace_json.h"

#include "base/json_writer.h"
#include "report/measured/findings.h"
#include "report/measured/graph_output.h"
#include "report/measured/trace_text.h"
#include "report/measured/work_report.h"
#include "report/summary/summary_json.h"
#include "report/summary/summary_members.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

void write_rank(JsonWriter& json, const analysis::RankSummary& rank) {
  const analysis::RankBreakdown& b = rank.breakdown;
  json.member("rank", b.rank).member("file", b.file).member("gpu_events", b.gpu_events);
  json.member("span_ns", b.span_ns).member("busy_ns", b.busy_ns).member("idle_ns", b.idle_ns);
  json.member("compute_ns", b.compute_ns).member("communication_ns", b.communication_ns);
  json.member("memory_ns", b.memory_ns).member("overlap_ns", b.overlap_ns);
  json.member("exposed_communication_ns", b.exposed_communication_ns);
  json.member("exposed_memory_ns", b.exposed_memory_ns);
  json.key("idle_cause_ns").begin_object(base::kOneLine);
  json.member("late_launch", rank.idle.launch_ns).member("queued", rank.idle.queued_ns);
  json.member("unknown", rank.idle.unknown_ns).end_object();
  if (rank.steps.count > 0) {
    json.key("steps").begin_object(base::kOneLine);
    json.member("count", rank.steps.count).member("first", rank.steps.first);
    json.member("last", rank.steps.last).member("mean_s", rank.steps.mean_s).end_object();
  }
  json.known("gpu", rank.gpu);
  write_launches(json, rank);
  json.member("truncated", rank.truncated);
}

std::string_view gpu_class_word(run::GpuClass kind) {
  switch (kind) {
    case run::GpuClass::kCompute: return "compute";
    case run::GpuClass::kCommunication: return "communication";
    case run::GpuClass::kMemory: return "memory";
  }
  return "";
}

void write_kernels(JsonWriter& json, const std::vector<analysis::KernelRow>& rows) {
  json.rows("kernels", rows, [&](const analysis::KernelRow& row) {
    json.member("name", row.name).member("class", row.kernel_class);
    json.member("kind", gpu_class_word(row.kind)).member("count", row.count);
    json.member("total_ns", row.total_ns).member("shortest_ns", row.shortest_ns);
    json.member("longest_ns", row.longest_ns);
  });
}

void write_collectives(JsonWriter& json, const std::vector<analysis::CollectiveRow>& rows) {
  json.rows("collectives", rows, [&](const analysis::CollectiveRow& row) {
    json.member("name", analysis::to_word(row.kind)).member("group", row.group);
    json.member("description", row.description);
    json.member("parallelism", analysis::parallelism_of(row.description))
        .member("dtype", row.dtype);
    json.member("group_size", row.group_size).member("count", row.count);
    json.member("total_ns", row.total_ns);
    if (row.known > 0) {
      json.member("known", row.known).member("bytes", row.bytes);
      json.member("mean_bus_gb_per_s", row.mean_bus_gb_per_s);
      json.member("best_bus_gb_per_s", row.best_bus_gb_per_s);
    }
  });
}

void write_arrivals(JsonWriter& json, const analysis::ArrivalTable& table) {
  if (table.matched == 0) return;
  json.key("arrivals").begin_object();
  json.member("matched", table.matched).member("unmatched", table.unmatched);
  json.member("skew_ns", table.skew_ns).member("transfer_ns", table.transfer_ns);
  json.rows("ranks", table.ranks, [&](const analysis::Arrival& rank) {
    json.member("rank", rank.rank).member("last", rank.last);
    json.member("lateness_ns", rank.lateness_ns).member("waiting_ns", rank.waiting_ns);
    json.member("exposed_waiting_ns", rank.exposed_waiting_ns);
  });
  json.end_object();
}

}  // namespace

void write_trace_performance(JsonWriter& json, const run::Performance& performance) {
  json.key("performance").begin_object();
  json.member("step_time_s", performance.step_time_s);
  json.key("breakdown_s").begin_object();
  write_members(json, performance.breakdown_s, run::kBreakdownColumns);
  json.end_object().end_object();
}

void write_trace(JsonWriter& json, const analysis::TraceSummary& summary,
                 const std::vector<run::Dropped>& dropped) {
  json.key("trace").begin_object();
  json.objects("ranks", summary.ranks, write_rank);
  if (!summary.notes.empty()) json.list("notes", summary.notes);
  write_records(json, "dropped", dropped, run::kDroppedColumns);
  write_kernels(json, summary.kernels);
  write_collectives(json, summary.collectives);
  write_arrivals(json, summary.arrivals);
  write_work(json, summary);
  json.end_object();
}

std::string trace_json(const analysis::TraceSummary& summary,
                       const std::vector<run::Dropped>& dropped,
                       const std::function<void(JsonWriter&)>& more, const run::Run* run) {
  JsonWriter json;
  json.begin_object();
  if (run != nullptr) {
    write_summary(json, *run);
  } else {
    json.member("schema_version", run::kSchemaVersion).member("source", "imported");
    if (summary.performance) write_trace_performance(json, *summary.performance);
  }
  write_trace(json, summary, dropped);
  if (!summary.graphs.empty()) write_graphs(json, summary.graphs);
  if (more) more(json);
  write_findings(json, summary.findings);
  json.end_object();
  return json.take();
}

std::string import_json(const run::Run& run, const std::string& path) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", run::kSchemaVersion).member("source", run.source);
  json.member("run", path).key("files").begin_array();
  for (const run::RankTrace& trace : run.traces) {
    json.begin_object(base::kOneLine).member("rank", trace.rank);
    json.member("file", trace.file).member("gpu_events", trace.events.size());
    json.member("truncated", trace.truncated).end_object();
  }
  for (const run::WorkGraph& graph : run.graphs) {
    json.begin_object(base::kOneLine).member("rank", graph.rank);
    json.member("file", graph.file).member("graph_nodes", graph.nodes.size());
    json.member("truncated", graph.truncated).end_object();
  }
  json.end_array();
  json.rows("devices", run.log.devices, [&](const run::Device& device) {
    json.member("kind", run::kind_name(device.kind)).member("rank", device.rank);
    json.member("host", device.host).member("file", device.file);
    json.member("readings", readings_of(device));
  });
  write_records(json, "dropped", dropped_of(run), run::kDroppedColumns);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
