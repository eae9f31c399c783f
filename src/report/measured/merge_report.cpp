#include "report/measured/merge_report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/table.h"
#include "base/text.h"
#include "report/format.h"
#include "report/measured/trace_text.h"

namespace ergometer::report {
namespace {

constexpr double kNano = 1e-9;

std::string signed_time(double seconds) {
  return (seconds < 0 ? "-" : "+") + base::format_seconds(std::abs(seconds));
}

std::string method_text(const analysis::HostClockReport& host) {
  if (host.method == "reference") return "the reference";
  if (host.method == "probes")
    return fmt::format("{} asked {} for its time", host.host, host.against);
  if (host.method == "collectives")
    return fmt::format("ends of the collectives it shares with {}", host.against);
  if (host.method == "synchronized") return "the kernels' word that both clocks are held";
  return "taken as equal: nothing tells";
}

void add_host(const analysis::HostClockReport& host, base::Table& table) {
  const bool told = host.method != "reference" && host.method != "unknown";
  const std::string bound = host.method == "reference" ? "-"
                            : host.bounded ? base::format_seconds(host.model.uncertainty_ns * kNano)
                                           : "unknown";
  table.row("  " + host.host, !told ? "-" : signed_time(host.model.offset_ns * kNano),
            !told ? "-" : fmt::format("{:+.2f} ppm", host.model.drift_ppm), bound,
            method_text(host));
}

struct Counts {
  size_t gpus = 0, devices = 0, readings = 0;
};
Counts count(const run::DeviceLog& log) {
  Counts result;
  for (const run::Device& device : log.devices) {
    (device.kind == run::DeviceKind::kGpu ? result.gpus : result.devices) += 1;
    result.readings += readings_of(device);
  }
  return result;
}

}  // namespace

std::string merge_text(const analysis::MergedRun& merged, const std::string& path,
                       const TextStyle& style) {
  base::Table table("<16 >13 >12 >12 <");
  table.row("  Host", "clock", "drift", "at most off", "known from");
  for (const analysis::HostClockReport& host : merged.hosts) add_host(host, table);
  std::string out = table_text(table, style);
  for (const std::string& note : merged.notes) out += wrap("Note: " + note + ".", 80, 0) + '\n';
  const Counts counts = count(merged.run.log);
  out += fmt::format("{}: {} GPUs, {} other devices, {} readings; {} traces\n", path, counts.gpus,
                     counts.devices, base::format_count(static_cast<int64_t>(counts.readings)),
                     merged.run.traces.size());
  return out;
}

std::string merge_json(const analysis::MergedRun& merged, const std::string& path) {
  base::JsonWriter json;
  json.begin_object();
  json.member("schema_version", run::kSchemaVersion).member("file", path);
  json.objects("hosts", merged.hosts, [&](const analysis::HostClockReport& host) {
    json.member("host", host.host);
    json.list("files", host.files, base::kOneLine);
    json.member("method", host.method).member("against", host.against);
    json.member("offset_s", host.model.offset_ns * kNano);
    json.member("drift_ppm", host.model.drift_ppm);
    json.key("uncertainty_s");
    host.bounded ? json.value(host.model.uncertainty_ns * kNano) : json.null();
  });
  const Counts counts = count(merged.run.log);
  json.member("gpus", static_cast<int64_t>(counts.gpus));
  json.member("devices", static_cast<int64_t>(counts.devices));
  json.member("readings", static_cast<int64_t>(counts.readings));
  json.member("traces", static_cast<int64_t>(merged.run.traces.size()));
  json.list("notes", merged.notes).end_object();
  return json.take();
}

}  // namespace ergometer::report
