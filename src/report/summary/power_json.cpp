#include "report/summary/power_json.h"

#include "report/summary/summary_members.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

constexpr size_t kMostSamples = 4096;

void write_parts(JsonWriter& json, const char* name, const std::vector<run::PowerPart>& parts) {
  json.key(name).begin_object(JsonWriter::Layout::kOneLine);
  for (const run::PowerPart& part : parts) json.member(part.name, part.watts);
  json.end_object();
}

void write_energy(JsonWriter& json, const std::vector<run::EnergyRow>& rows) {
  if (rows.empty()) return;
  json.key("step_energy").begin_array();
  for (const run::EnergyRow& row : rows) {
    // Hundreds of rows, for pictures: pages and Run files have them.
    if (row.dimension == run::kStackDimension) continue;
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("dimension", row.dimension).member("name", row.name).member("joules", row.joules);
    if (row.is_divided())
      json.member("work_joules", row.work_joules).member("seconds", row.seconds);
    json.end_object();
  }
  json.end_array();
}

void write_phases(JsonWriter& json, const std::vector<run::RunPhase>& phases) {
  if (phases.empty()) return;
  json.member("run_mean_w", run::mean_w(phases)).key("run_phases").begin_array();
  for (const run::RunPhase& it : phases)
    json.begin_object(JsonWriter::Layout::kOneLine)
        .member("name", it.name)
        .member("seconds", it.seconds)
        .member("cluster_w", it.cluster_w)
        .end_object();
  json.end_array();
}

void write_thermal(JsonWriter& json, const run::Run& run) {
  json.key("thermal").begin_object();
  write_fields(json, run, "thermal.");
  json.key("rows").begin_array();
  for (const run::SlotRow& row : run.thermal.rows)
    json.begin_object(JsonWriter::Layout::kOneLine)
        .member("row", row.row)
        .member("mean_gpu_c", row.mean_gpu_c)
        .member("max_gpu_c", row.max_gpu_c)
        .member("mean_clock_mhz", row.mean_clock_mhz)
        .end_object();
  json.end_array();
  json.key("event_shares").begin_object(JsonWriter::Layout::kOneLine);
  for (const run::EventShare& share : run.thermal.event_shares)
    json.member(share.reason, share.fraction);
  json.end_object();
  json.member("limit", run.thermal.limit).end_object();
}

void write_ramps(JsonWriter& json, const std::vector<run::Ramp>& ramps) {
  json.key("ramps").begin_array();
  for (const run::Ramp& ramp : ramps) {
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("over_s", ramp.over_s).member("up_w_per_s", ramp.up_w_per_s);
    json.member("down_w_per_s", ramp.down_w_per_s).end_object();
  }
  json.end_array();
}

void write_bands(JsonWriter& json, const std::vector<run::Band>& bands) {
  json.key("bands").begin_array();
  for (const run::Band& band : bands) {
    json.begin_object(JsonWriter::Layout::kOneLine);
    json.member("low_hz", band.low_hz).member("high_hz", band.high_hz);
    json.member("rms_w", band.rms_w).end_object();
  }
  json.end_array();
}

void write_cluster(JsonWriter& json, const run::Run& run, PowerOverTime power) {
  const run::ClusterPower& cluster = run.cluster_power;
  json.key("cluster_power").begin_object();
  json.member("mean_w", run.power.cluster_mean_w).member("peak_w", run.power.cluster_peak_w);
  write_fields(json, run, "cluster_power.");
  write_ramps(json, cluster.ramps);
  write_bands(json, cluster.bands);
  json.member("samples", static_cast<int64_t>(cluster.watts.size()));
  if (power == PowerOverTime::kWrite && cluster.watts.size() <= kMostSamples) {
    json.key("watts").begin_array(JsonWriter::Layout::kOneLine);
    for (const double watts : cluster.watts) json.value(watts);
    json.end_array();
  }
  json.end_object();
}

}  // namespace

void write_power(JsonWriter& json, const run::Run& run, PowerOverTime power) {
  if (!run.has_power) return;
  json.key("power").begin_object();
  write_fields(json, run, "power.");
  write_parts(json, "gpu_parts_w", run.power.gpu_parts);
  write_parts(json, "node_parts_w", run.power.node_parts);
  write_phases(json, run.power.run_phases);
  write_energy(json, run.power.step_energy);
  json.end_object();
  write_thermal(json, run);
  write_cluster(json, run, power);
}

void write_rank_power(JsonWriter& json, const run::Rank& rank) {
  json.member("mean_power_w", rank.mean_power_w).member("peak_power_w", rank.peak_power_w);
  json.member("mean_gpu_c", rank.mean_gpu_c).member("max_gpu_c", rank.max_gpu_c);
  json.member("mean_clock_mhz", rank.mean_clock_mhz);
  json.member("throttled_time_fraction", rank.throttled_time_fraction);
}

}  // namespace ergometer::report
