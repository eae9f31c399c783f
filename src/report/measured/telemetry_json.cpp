#include "report/measured/telemetry_json.h"

#include <algorithm>

#include "report/measured/energy_error_output.h"
#include "report/summary/summary_members.h"

namespace ergometer::report {
namespace {

using analysis::DeviceReport;
using base::JsonWriter;

/// A number, and where it is measured its 90 % interval, as of a predicted one.
void write_within(JsonWriter& json, const std::string& name, double value,
                  const run::EnergyError& error) {
  json.member(name, value);
  if (!error.stated) return;
  json.member(name + "_low", value * (1 - error.relative()));
  json.member(name + "_high", value * (1 + error.relative()));
}

/// Whose energies a job's is the sum of.
void write_hosts(JsonWriter& json, const std::vector<analysis::HostEnergy>& hosts) {
  if (hosts.size() < 2) return;
  json.rows("hosts", hosts, [&](const analysis::HostEnergy& host) {
    json.member("host", host.host).member("gpus", host.gpus);
    json.member("gpu_energy_j", host.gpu_energy_j);
    write_error(json, "gpu_energy_error_pct", host.error);
  });
}

void write_power(JsonWriter& json, const analysis::TelemetryReport& report) {
  if (!report.power.known && !report.cluster.known) return;
  json.key("power").begin_object();
  if (report.power.known) {
    write_within(json, "mean_w_per_gpu", report.power.mean_w_per_gpu, report.power.mean_error);
    json.member("p95_w_per_gpu", report.power.p95_w_per_gpu);
    json.member("peak_w_per_gpu", report.power.peak_w_per_gpu);
    write_within(json, "gpu_energy_j", report.power.gpu_energy_j, report.power.error);
    write_error(json, "gpu_energy_error_pct", report.power.error);
    write_hosts(json, report.hosts);
  }
  if (report.cluster.known) {
    write_within(json, "cluster_mean_w", report.cluster.mean_w, report.cluster.error);
    json.member("cluster_peak_w", report.cluster.peak_w);
    write_within(json, "cluster_energy_j", report.cluster.energy_j, report.cluster.error);
    write_error(json, "cluster_energy_error_pct", report.cluster.error);
  }
  json.end_object();
}

void write_thermal(JsonWriter& json, const analysis::ThermalSummary& thermal,
                   const std::vector<DeviceReport>& devices) {
  if (!thermal.known) return;
  json.key("thermal").begin_object();
  bool temperatures = false;
  for (const DeviceReport& device : devices) temperatures = temperatures || device.gpu_c;
  if (temperatures) {
    json.member("mean_gpu_c", thermal.mean_gpu_c).member("max_gpu_c", thermal.max_gpu_c);
    json.member("spread_c", thermal.spread_c);
  }
  json.known("mean_memory_c", thermal.mean_memory_c).known("max_memory_c", thermal.max_memory_c);
  json.known("throttled_time_fraction", thermal.throttled_time_fraction);
  json.known("mean_clock_mhz", thermal.mean_clock_mhz);
  json.known("lowest_clock_mhz", thermal.lowest_clock_mhz);
  json.object("event_shares", thermal.event_shares, base::kOneLine).end_object();
}

void write_levels(JsonWriter& json, std::string_view name,
                  const std::optional<analysis::Levels>& levels) {
  if (!levels) return;
  json.key(name).begin_object(base::kOneLine);
  json.member("mean", levels->mean).member("lowest", levels->lowest);
  json.member("highest", levels->highest).end_object();
}

void write_power_of(JsonWriter& json, const DeviceReport& device) {
  if (!device.has_power) return;
  json.member("power_metric", device.power_metric).member("mean_w", device.mean_w);
  if (device.updates.readings > 0) {
    json.member("p5_w", device.p5_w).member("median_w", device.median_w);
    json.member("p95_w", device.p95_w).member("p99_w", device.p99_w);
  }
  json.member("peak_w", device.peak_w);
  if (device.updates.readings == 0) return;
  json.member("readings", device.updates.readings);
  json.member("sensor_updates", device.updates.distinct);
  json.member("sensor_updates_unchanged", device.updates.unchanged);
  json.member("reading_interval_s", device.updates.reading_interval_s);
  json.member("update_period_s", device.updates.period_s);
}

/// Of its energy and of its mean power.
void write_energy_error(JsonWriter& json, const DeviceReport& device) {
  if (!device.error.stated) return;
  write_error(json, "energy_error_pct", device.error);
  json.member("sensor_known", device.error.known);
}

void write_energies(JsonWriter& json, const DeviceReport& device) {
  if (device.energies.empty()) return;
  json.member("energy_j", device.energy_j);
  json.object("energy_by_way_j", device.energies, base::kOneLine);
  json.member("energy_disagreement_pct", device.disagreement_pct);
}

void write_spans(JsonWriter& json, const char* name, const std::vector<analysis::TimeSpan>& spans) {
  if (spans.empty()) return;
  json.rows(name, spans, [&](const analysis::TimeSpan& span) {
    json.member("start_ns", span.from_ns).member("end_ns", span.to_ns);
  });
}

void write_traffic(JsonWriter& json, const DeviceReport& device) {
  if (device.traffic.empty()) return;
  json.rows("traffic", device.traffic, [&](const DeviceReport::Traffic& traffic) {
    json.member("counter", traffic.metric).member("bytes", traffic.bytes);
    if (traffic.partial) json.member("link_0_only", true);
    if (traffic.links > 0)
      json.member("estimated_bytes_of_all_links",
                  traffic.bytes * static_cast<double>(traffic.links))
          .member("links_assumed", traffic.links);
  });
}

void write_changes(JsonWriter& json, const DeviceReport& device) {
  if (device.changes.empty()) return;
  json.rows("power_changes", device.changes, [&](const analysis::ChangePoint& change) {
    json.member("time_ns", change.time_ns);
    json.member("before_w", change.before).member("after_w", change.after);
  });
}

void write_device(JsonWriter& json, const DeviceReport& device) {
  json.begin_object();
  if (device.rank >= 0) json.member("rank", device.rank);
  if (device.kind == run::DeviceKind::kGpu && device.index >= 0) json.member("index", device.index);
  json.known("name", device.name).known("uuid", device.uuid);
  json.member("host", device.host).member("file", device.file);
  json.member("start_ns", device.start_ns).member("end_ns", device.end_ns);
  write_spans(json, "gaps", device.gaps);
  write_spans(json, "energy_counter_resets", device.resets);
  write_power_of(json, device);
  write_energies(json, device);
  write_energy_error(json, device);
  write_levels(json, "gpu_c", device.gpu_c);
  write_levels(json, "memory_c", device.memory_c);
  write_levels(json, "sm_clock_mhz", device.sm_clock_mhz);
  write_levels(json, "memory_clock_mhz", device.memory_clock_mhz);
  write_levels(json, "utilization_pct", device.utilization_pct);
  write_levels(json, "memory_utilization_pct", device.memory_utilization_pct);
  write_levels(json, "fan_pct", device.fan_pct);
  write_levels(json, "power_limit_w", device.power_limit_w);
  write_levels(json, "cpu_utilization_pct", device.cpu_pct);
  write_levels(json, "cpu_c", device.cpu_c);
  write_levels(json, "memory_used_b", device.memory_used_b);
  json.known("idle_fraction", device.idle_fraction);
  json.known("throttled_time_fraction", device.throttled_fraction);
  if (!device.throttling.empty()) json.object("throttled_by", device.throttling, base::kOneLine);
  if (!device.reasons.empty()) json.object("event_shares", device.reasons, base::kOneLine);
  write_traffic(json, device);
  write_changes(json, device);
  json.end_object();
}

void write_devices(JsonWriter& json, const char* name, run::DeviceKind kind,
                   const std::vector<DeviceReport>& devices) {
  json.array(name, devices, [&](const DeviceReport& device) {
    if (device.kind == kind) write_device(json, device);
  });
}

void write_devices_if_any(JsonWriter& json, const char* name, run::DeviceKind kind,
                          const std::vector<DeviceReport>& devices) {
  if (std::ranges::any_of(devices, [&](const auto& d) { return d.kind == kind; }))
    write_devices(json, name, kind, devices);
}

/// From run_start to run_stop; of power only where a node's was read.
void write_training_run(JsonWriter& json, const analysis::TrainingReport& t) {
  json.member("run_s", t.run_s).member("nodes", t.nodes);
  if (t.nodes > 0) {
    json.member("node_energy_j", t.node_energy_j);
    write_error(json, "node_energy_error_pct", t.error);
    json.member("mean_power_times_time_j", t.mean_times_time_j);
    json.member("energy_disagreement_pct", t.disagreement_pct);
    json.member("mean_node_w", t.mean_node_w).member("peak_node_w", t.peak_node_w);
    json.member("training_node_w", t.training_node_w);
    json.member("covered_fraction", t.covered_fraction);
  }
  if (t.interconnect_energy_j > 0) json.member("interconnect_energy_j", t.interconnect_energy_j);
  if (t.samples_per_s > 0) json.member("samples_per_s", t.samples_per_s);
  if (t.energy_per_sample_j > 0) {
    json.member("energy_per_sample_j", t.energy_per_sample_j);
    write_error(json, "energy_per_sample_error_pct", t.error);
  }
}

void write_training(JsonWriter& json, const std::vector<analysis::TrainingReport>& all) {
  json.objects("training", all, [&](const analysis::TrainingReport& t) {
    json.member("file", t.file).known("benchmark", t.benchmark).known("platform", t.platform);
    if (t.run_s > 0) write_training_run(json, t);
    if (t.logged.steps > 0) {
      json.member("steps", t.logged.steps).member("steps_a_line", t.logged.steps_a_line);
      json.member("step_time_s", t.logged.median_s);
      json.member("step_time_s_p10", t.logged.low_s).member("step_time_s_p90", t.logged.high_s);
      json.member("step_time_s_p95", t.logged.p95_s).member("slowest_step_s", t.logged.slowest_s);
      json.member("slowest_step", t.logged.slowest_step);
      if (t.logged.tokens_per_s_per_gpu > 0)
        json.member("tokens_per_s_per_gpu", t.logged.tokens_per_s_per_gpu);
    }
  });
}

void write_gauges(JsonWriter& json, const std::vector<analysis::GaugeReport>& gauges) {
  json.rows("metrics", gauges, [&](const analysis::GaugeReport& gauge) {
    json.member("name", gauge.name);
    json.member("count", gauge.count).member("lowest", gauge.lowest).member("mean", gauge.mean);
    json.member("highest", gauge.highest).member("highest_rank", gauge.highest_rank);
  });
}

void write_meters(JsonWriter& json, const std::vector<analysis::MeterReport>& meters) {
  json.objects("meters", meters, [&](const analysis::MeterReport& m) {
    json.member("meter", m.meter).member("rank", m.rank).member("file", m.gpu_file);
    json.member("clock_offset_s", m.clock_offset_s).member("start_s", m.start_s);
    json.member("common_s", m.common_s).member("meter_energy_j", m.meter_energy_j);
    json.member("sensor_energy_j", m.sensor_energy_j);
    json.member("sensor_error_pct", m.sensor_error_pct);
    if (m.gain > 0) {
      json.member("gain", m.gain).member("corrected_energy_j", m.corrected_energy_j);
      json.member("corrected_error_pct", m.corrected_error_pct);
    }
  });
}

void write_windows(JsonWriter& json, const run::DeviceLog& log,
                   const std::vector<DeviceReport>& devices) {
  json.array("windows", devices, [&](const DeviceReport& report) {
    const run::Device& device = log.devices[static_cast<size_t>(&report - devices.data())];
    for (const run::EnergyWindow& window : device.windows) {
      json.begin_object(base::kOneLine).member("rank", device.rank);
      json.member("name", window.name).member("start_ns", window.start_ns);
      json.member("duration_ns", window.duration_ns).member("energy_j", window.energy_j);
      write_error(json, "energy_error_pct", report.windows_error);
      json.end_object();
    }
  });
}

void write_collectives(JsonWriter& json, const analysis::CollectiveTimings& timings) {
  if (timings.sizes.empty()) return;
  json.rows("collectives", timings.sizes, [&](const analysis::CollectiveSize& s) {
    json.member("source", s.source);
    json.member("communicator", s.communicator).member("kind", s.kind).member("bytes", s.bytes);
    json.member("ranks", s.ranks).member("nodes", s.nodes).member("timings", s.timings);
    json.member("median_s", s.median_s).member("lowest_s", s.lowest_s);
    json.member("highest_s", s.highest_s).member("algorithm_gb_per_s", s.algorithm_gb_per_s);
    json.member("bus_gb_per_s", s.bus_gb_per_s);
  });
  json.rows("communicator_ranks", timings.ranks, [&](const analysis::CommunicatorRank& r) {
    json.member("communicator", r.communicator);
    json.member("rank", r.rank).member("host", r.host).member("apart", r.apart);
    json.member("last", r.last).member("others_waited_s", r.others_waited_s);
    json.member("late", r.late);
  });
}

void write_read(JsonWriter& json, const run::DeviceLog& log,
                const analysis::TelemetryReport& report) {
  std::vector<std::string> notes = log.notes;
  notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  json.list("notes", notes);
  write_records(json, "dropped", log.dropped, run::kDroppedColumns);
}

}  // namespace

void write_telemetry(base::JsonWriter& json, const run::DeviceLog& log,
                     const analysis::TelemetryReport& report) {
  write_power_summary(json, report);
  write_readings(json, log, report);
}

void write_power_summary(base::JsonWriter& json, const analysis::TelemetryReport& report) {
  write_power(json, report);
  write_thermal(json, report.thermal, report.devices);
}

void write_readings(base::JsonWriter& json, const run::DeviceLog& log,
                    const analysis::TelemetryReport& report) {
  json.key("telemetry").begin_object();
  write_devices(json, "gpus", run::DeviceKind::kGpu, report.devices);
  write_devices(json, "nodes", run::DeviceKind::kNode, report.devices);
  write_devices_if_any(json, "cpus", run::DeviceKind::kCpu, report.devices);
  write_devices_if_any(json, "ports", run::DeviceKind::kPort, report.devices);
  write_meters(json, report.meters);
  write_training(json, report.training);
  write_windows(json, log, report.devices);
  write_records(json, "power_limits", log.power_limits, run::kPowerLimitColumns);
  write_gauges(json, report.gauges);
  write_collectives(json, report.collectives);
  write_read(json, log, report);
  json.end_object();
}

std::string telemetry_json(const run::DeviceLog& log, const analysis::TelemetryReport& report,
                           const std::function<void(base::JsonWriter&)>& more) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", run::kSchemaVersion).member("source", log.source);
  write_telemetry(json, log, report);
  if (more) more(json);
  json.end_object();
  return json.take();
}

}  // namespace ergometer::report
