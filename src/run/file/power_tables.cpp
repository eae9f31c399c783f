#include "run/file/power_tables.h"

#include "run/file/prediction.h"
#include "run/file/row_table.h"

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

constexpr RowTable kPartTable("power_parts", "scope, position", &PowerPart::name,
                              &PowerPart::watts);
constexpr RowTable kClusterPowerTable("cluster_power", "position", Whole<double>());

void insert_energy(Database& db, const std::vector<EnergyRow>& rows) {
  Statement insert(db, "INSERT INTO step_energy VALUES (?, ?, ?, ?, ?, ?)");
  int64_t position = 0;
  for (const EnergyRow& row : rows)
    insert.run(position++, row.dimension, row.name, row.joules,
               row.is_divided() ? NullableReal(row.work_joules) : NullableReal(),
               row.is_divided() ? NullableReal(row.seconds) : NullableReal());
}

constexpr RowTable kKindPowerTable("kind_power", "position", kKindPowerColumns);
constexpr RowTable kPhaseTable("run_phases", "position", kPhaseColumns);
constexpr Columns kSlotRowColumns("slot_row, mean_gpu_c, max_gpu_c, mean_clock_mhz", &SlotRow::row,
                                  &SlotRow::mean_gpu_c, &SlotRow::max_gpu_c,
                                  &SlotRow::mean_clock_mhz);
constexpr RowTable kSlotRowTable("slot_rows", "", kSlotRowColumns);
constexpr Columns kEventShareColumns("reason, fraction", &EventShare::reason,
                                     &EventShare::fraction);
constexpr RowTable kEventShareTable("event_shares", "position", kEventShareColumns);
constexpr RowTable kRampTable("cluster_ramps", "position", kRampColumns);
constexpr RowTable kBandTable("cluster_bands", "position", kBandColumns);
constexpr Columns kTelemetryColumns(
    "time_ns, rank, power_w, average_power_w, gpu_c, memory_c, sm_clock_mhz, event_reasons",
    &Telemetry::time_ns, &Telemetry::rank, &Telemetry::power_w, &Telemetry::average_power_w,
    &Telemetry::gpu_c, &Telemetry::memory_c, &Telemetry::sm_clock_mhz, &Telemetry::event_reasons);
constexpr RowTable kTelemetryTable("telemetry", "", kTelemetryColumns);

void insert_thermal(Database& db, const Thermal& thermal) {
  Statement limit(db, "INSERT INTO run VALUES ('thermal_limit', ?)");
  limit.run(thermal.limit);
  kSlotRowTable.insert(db, thermal.rows);
  kEventShareTable.insert(db, thermal.event_shares);
}

void insert_cluster(Database& db, const ClusterPower& cluster) {
  kClusterPowerTable.insert(db, cluster.watts);
  kRampTable.insert(db, cluster.ramps);
  kBandTable.insert(db, cluster.bands);
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

void select_thermal(Database& db, Thermal& thermal) {
  thermal.limit = fact_of(db, "thermal_limit");
  kSlotRowTable.select_if_there(db, thermal.rows);
  kEventShareTable.select(db, thermal.event_shares);
}

void select_cluster(Database& db, ClusterPower& cluster) {
  kClusterPowerTable.select(db, cluster.watts);
  kRampTable.select(db, cluster.ramps);
  kBandTable.select(db, cluster.bands);
}

}  // namespace

void select_telemetry(Database& db, std::vector<Telemetry>& telemetry) {
  kTelemetryTable.select_if_there(db, telemetry);
}

void create_power_tables(Database& db) { db.execute(kPowerSchema); }

void insert_power(Database& db, const Run& run) {
  kTelemetryTable.insert(db, run.telemetry);
  if (!run.has_power) return;
  kPartTable.insert(db, run.power.gpu_parts, kGpuScope);
  kPartTable.insert(db, run.power.node_parts, kNodeScope);
  kKindPowerTable.insert_if_any(db, run.power.kinds);
  kPhaseTable.insert(db, run.power.run_phases);
  insert_energy(db, run.power.step_energy);
  insert_thermal(db, run.thermal);
  insert_cluster(db, run.cluster_power);
}

void select_power(Database& db, Run& run) {
  run.has_power = db.number("SELECT count(*) FROM summary WHERE name = 'power.mean_w_per_gpu'") > 0;
  select_telemetry(db, run.telemetry);
  if (!run.has_power) return;
  kPartTable.select_of(db, kGpuScope, run.power.gpu_parts);
  kPartTable.select_of(db, kNodeScope, run.power.node_parts);
  kKindPowerTable.select_if_there(db, run.power.kinds);
  kPhaseTable.select_if_there(db, run.power.run_phases);
  select_energy(db, run.power.step_energy);
  select_thermal(db, run.thermal);
  select_cluster(db, run.cluster_power);
}

}  // namespace ergometer::run
