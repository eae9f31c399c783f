#include "report/trace_json.h"

#include "base/json_writer.h"
#include "run/run.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

void write_rank(JsonWriter& json, const analysis::RankBreakdown& rank) {
  json.begin_object();
  json.member("rank", rank.rank).member("file", rank.file).member("gpu_events", rank.gpu_events);
  json.member("span_ns", rank.span_ns).member("busy_ns", rank.busy_ns);
  json.member("idle_ns", rank.idle_ns).member("compute_ns", rank.compute_ns);
  json.member("communication_ns", rank.communication_ns).member("memory_ns", rank.memory_ns);
  json.member("overlap_ns", rank.overlap_ns);
  json.member("exposed_communication_ns", rank.exposed_communication_ns);
  json.member("exposed_memory_ns", rank.exposed_memory_ns);
  json.end_object();
}

}  // namespace

std::string trace_json(const std::vector<analysis::RankBreakdown>& ranks,
                       const std::vector<run::Dropped>& dropped) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", run::kSchemaVersion).member("source", "imported");
  json.key("trace").begin_object();
  json.key("ranks").begin_array();
  for (const analysis::RankBreakdown& rank : ranks) write_rank(json, rank);
  json.end_array();
  json.key("dropped").begin_array();
  for (const run::Dropped& d : dropped) {
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("file", d.file).member("reason", d.reason).member("count", d.count);
    json.end_object();
  }
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace ergometer::report
