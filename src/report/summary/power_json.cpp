#include "report/summary/power_json.h"

#include "report/summary/summary_members.h"

namespace ergometer::report {
namespace {

using base::JsonWriter;

constexpr size_t kMostSamples = 4096;

void write_energy(JsonWriter& json, std::vector<run::EnergyRow> rows) {
  if (rows.empty()) return;
  // Hundreds of rows, for pictures: pages and Run files have them.
  std::erase_if(rows, [](const auto& row) { return row.dimension == run::kStackDimension; });
  json.rows("step_energy", rows, [&](const run::EnergyRow& row) {
    json.member("dimension", row.dimension).member("name", row.name).member("joules", row.joules);
    if (row.is_divided())
      json.member("work_joules", row.work_joules).member("seconds", row.seconds);
  });
}

void write_phases(JsonWriter& json, const std::vector<run::RunPhase>& phases) {
  if (phases.empty()) return;
  json.member("run_mean_w", run::mean_w(phases));
  write_records(json, "run_phases", phases, run::kPhaseColumns);
}

void write_thermal(JsonWriter& json, const run::Run& run) {
  json.key("thermal").begin_object();
  write_fields(json, run, "thermal.");
  json.rows("rows", run.thermal.rows, [&](const run::SlotRow& row) {
    json.member("row", row.row)
        .member("mean_gpu_c", row.mean_gpu_c)
        .member("max_gpu_c", row.max_gpu_c)
        .member("mean_clock_mhz", row.mean_clock_mhz);
  });
  json.object("event_shares", run.thermal.event_shares, base::kOneLine);
  json.member("limit", run.thermal.limit).end_object();
}

void write_cluster(JsonWriter& json, const run::Run& run, PowerOverTime power) {
  const run::ClusterPower& cluster = run.cluster_power;
  json.key("cluster_power").begin_object();
  write_fields(json, run, "cluster_power.");
  write_records(json, "ramps", cluster.ramps, run::kRampColumns);
  write_records(json, "bands", cluster.bands, run::kBandColumns);
  json.member("samples", static_cast<int64_t>(cluster.watts.size()));
  if (power == PowerOverTime::kWrite && cluster.watts.size() <= kMostSamples) {
    json.list("watts", cluster.watts, base::kOneLine);
  }
  json.end_object();
}

}  // namespace

void write_power(JsonWriter& json, const run::Run& run, PowerOverTime power) {
  if (!run.has_power) return;
  json.key("power").begin_object();
  write_fields(json, run, "power.");
  json.object("gpu_parts_w", run.power.gpu_parts, base::kOneLine);
  json.object("node_parts_w", run.power.node_parts, base::kOneLine);
  if (!run.power.kinds.empty())
    write_records(json, "kinds", run.power.kinds, run::kKindPowerColumns);
  write_phases(json, run.power.run_phases);
  write_energy(json, run.power.step_energy);
  json.end_object();
  write_thermal(json, run);
  write_cluster(json, run, power);
}

}  // namespace ergometer::report
