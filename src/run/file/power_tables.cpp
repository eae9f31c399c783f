#include "run/file/power_tables.h"

namespace ergometer::run {
namespace {

constexpr const char* kPowerSchema = R"sql(
CREATE TABLE power_parts (
  scope TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, watts REAL NOT NULL,
  PRIMARY KEY (scope, position)) WITHOUT ROWID;
CREATE TABLE step_energy (
  position INTEGER PRIMARY KEY, dimension TEXT NOT NULL, name TEXT NOT NULL, joules REAL NOT NULL,
  work_joules REAL, seconds REAL);
CREATE TABLE run_phases (
  position INTEGER PRIMARY KEY, name TEXT NOT NULL, seconds REAL NOT NULL, cluster_w REAL NOT NULL);
CREATE TABLE slot_rows (slot_row INTEGER PRIMARY KEY, mean_gpu_c REAL NOT NULL, max_gpu_c REAL NOT NULL,
  mean_clock_mhz REAL NOT NULL);
CREATE TABLE event_shares (position INTEGER PRIMARY KEY, reason TEXT NOT NULL, fraction REAL NOT NULL);
CREATE TABLE cluster_power (position INTEGER PRIMARY KEY, watts REAL NOT NULL);
CREATE TABLE cluster_ramps (
  position INTEGER PRIMARY KEY, over_s REAL NOT NULL, up_w_per_s REAL NOT NULL, down_w_per_s REAL NOT NULL);
CREATE TABLE cluster_bands (
  position INTEGER PRIMARY KEY, low_hz REAL NOT NULL, high_hz REAL NOT NULL, rms_w REAL NOT NULL);
CREATE TABLE telemetry (
  time_ns INTEGER NOT NULL, rank INTEGER NOT NULL, power_w REAL NOT NULL, average_power_w REAL NOT NULL,
  gpu_c REAL NOT NULL, memory_c REAL NOT NULL, sm_clock_mhz REAL NOT NULL, event_reasons INTEGER NOT NULL);
)sql";

constexpr std::string_view kGpuScope = "gpu", kNodeScope = "node";

void insert_parts(Database& db, std::string_view scope, const std::vector<PowerPart>& parts) {
  Statement insert(db, "INSERT INTO power_parts VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const PowerPart& part : parts) insert.run(scope, position++, part.name, part.watts);
}

void insert_energy(Database& db, const std::vector<EnergyRow>& rows) {
  Statement insert(db, "INSERT INTO step_energy VALUES (?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const EnergyRow& row : rows)
    insert.run(position++, row.dimension, row.name, row.joules,
               row.is_divided() ? NullableReal(row.work_joules) : NullableReal(),
               row.is_divided() ? NullableReal(row.seconds) : NullableReal());
}

void insert_phases(Database& db, const std::vector<RunPhase>& phases) {
  Statement insert(db, "INSERT INTO run_phases VALUES (?, ?, ?, ?)");
  int64_t position = 0;
  for (const RunPhase& it : phases) insert.run(position++, it.name, it.seconds, it.cluster_w);
}

void insert_thermal(Database& db, const Thermal& thermal) {
  Statement limit(db, "INSERT INTO run VALUES ('thermal_limit', ?)");
  limit.run(thermal.limit);
  Statement insert_row(db, "INSERT INTO slot_rows VALUES (?, ?, ?, ?)");
  for (const SlotRow& row : thermal.rows)
    insert_row.run(row.row, row.mean_gpu_c, row.max_gpu_c, row.mean_clock_mhz);
  Statement insert(db, "INSERT INTO event_shares VALUES (?, ?, ?)");
  int64_t position = 0;
  for (const EventShare& share : thermal.event_shares)
    insert.run(position++, share.reason, share.fraction);
}

void insert_cluster(Database& db, const ClusterPower& cluster) {
  Statement sample(db, "INSERT INTO cluster_power VALUES (?, ?)");
  int64_t position = 0;
  for (const double watts : cluster.watts) sample.run(position++, watts);
  Statement ramp(db, "INSERT INTO cluster_ramps VALUES (?, ?, ?, ?)");
  position = 0;
  for (const Ramp& r : cluster.ramps) ramp.run(position++, r.over_s, r.up_w_per_s, r.down_w_per_s);
  Statement band(db, "INSERT INTO cluster_bands VALUES (?, ?, ?, ?)");
  position = 0;
  for (const Band& b : cluster.bands) band.run(position++, b.low_hz, b.high_hz, b.rms_w);
}

void insert_telemetry(Database& db, const std::vector<Telemetry>& telemetry) {
  Statement insert(db, "INSERT INTO telemetry VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const Telemetry& t : telemetry)
    insert.run(t.time_ns, t.rank, t.power_w, t.average_power_w, t.gpu_c, t.memory_c, t.sm_clock_mhz,
               t.event_reasons);
}

void select_parts(Database& db, std::string_view scope, std::vector<PowerPart>& parts) {
  Statement select(db, "SELECT name, watts FROM power_parts WHERE scope = ? ORDER BY position");
  select.bind_all(scope);
  while (select.step()) parts.push_back({select.text(0), select.real(1)});
}

void select_energy(Database& db, std::vector<EnergyRow>& rows) {
  if (!db.has_table("step_energy")) return;
  Statement select(
      db,
      "SELECT dimension, name, joules, work_joules, seconds FROM step_energy ORDER BY position");
  while (select.step())
    rows.push_back(
        {select.text(0), select.text(1), select.real(2), select.real(3), select.real(4)});
}

void select_phases(Database& db, std::vector<RunPhase>& phases) {
  if (!db.has_table("run_phases")) return;
  Statement select(db, "SELECT name, seconds, cluster_w FROM run_phases ORDER BY position");
  while (select.step()) phases.push_back({select.text(0), select.real(1), select.real(2)});
}

void select_thermal(Database& db, Thermal& thermal) {
  Statement limit(db, "SELECT value FROM run WHERE key = 'thermal_limit'");
  if (limit.step()) thermal.limit = limit.text(0);
  if (db.has_table("slot_rows")) {
    Statement rows(
        db, "SELECT slot_row, mean_gpu_c, max_gpu_c, mean_clock_mhz FROM slot_rows ORDER BY 1");
    while (rows.step())
      thermal.rows.push_back({rows.integer(0), rows.real(1), rows.real(2), rows.real(3)});
  }
  Statement shares(db, "SELECT reason, fraction FROM event_shares ORDER BY position");
  while (shares.step()) thermal.event_shares.push_back({shares.text(0), shares.real(1)});
}

void select_cluster(Database& db, ClusterPower& cluster) {
  Statement samples(db, "SELECT watts FROM cluster_power ORDER BY position");
  while (samples.step()) cluster.watts.push_back(samples.real(0));
  Statement ramps(db,
                  "SELECT over_s, up_w_per_s, down_w_per_s FROM cluster_ramps ORDER BY position");
  while (ramps.step()) cluster.ramps.push_back({ramps.real(0), ramps.real(1), ramps.real(2)});
  Statement bands(db, "SELECT low_hz, high_hz, rms_w FROM cluster_bands ORDER BY position");
  while (bands.step()) cluster.bands.push_back({bands.real(0), bands.real(1), bands.real(2)});
}

}  // namespace

void select_telemetry(Database& db, std::vector<Telemetry>& telemetry) {
  if (!db.has_table("telemetry")) return;
  Statement select(db, "SELECT * FROM telemetry ORDER BY rowid");
  while (select.step())
    telemetry.push_back({.time_ns = select.integer(0),
                         .rank = select.integer(1),
                         .power_w = select.real(2),
                         .average_power_w = select.real(3),
                         .gpu_c = select.real(4),
                         .memory_c = select.real(5),
                         .sm_clock_mhz = select.real(6),
                         .event_reasons = select.integer(7)});
}

void create_power_tables(Database& db) { db.execute(kPowerSchema); }

void insert_power(Database& db, const Run& run) {
  insert_telemetry(db, run.telemetry);
  if (!run.has_power) return;
  insert_parts(db, kGpuScope, run.power.gpu_parts);
  insert_parts(db, kNodeScope, run.power.node_parts);
  insert_phases(db, run.power.run_phases);
  insert_energy(db, run.power.step_energy);
  insert_thermal(db, run.thermal);
  insert_cluster(db, run.cluster_power);
}

void select_power(Database& db, Run& run) {
  run.has_power = db.number("SELECT count(*) FROM summary WHERE name = 'power.mean_w_per_gpu'") > 0;
  select_telemetry(db, run.telemetry);
  if (!run.has_power) return;
  select_parts(db, kGpuScope, run.power.gpu_parts);
  select_parts(db, kNodeScope, run.power.node_parts);
  select_phases(db, run.power.run_phases);
  select_energy(db, run.power.step_energy);
  select_thermal(db, run.thermal);
  select_cluster(db, run.cluster_power);
}

}  // namespace ergometer::run
