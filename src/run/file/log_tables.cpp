#include "run/file/log_tables.h"

#include <algorithm>
#include <string>

#include "base/collection.h"
#include "run/file/reading_rows.h"
#include "run/file/row_table.h"
#include "run/file/table_rows.h"

namespace ergometer::run {
namespace {

constexpr const char* kLogSchema = R"sql(
CREATE TABLE devices (
  device INTEGER PRIMARY KEY, kind TEXT NOT NULL, rank INTEGER, device_index INTEGER, host TEXT NOT NULL,
  uuid TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, job TEXT NOT NULL,
  conversion_efficiency REAL NOT NULL, stated_power_w REAL NOT NULL, pci_bus_id TEXT NOT NULL);
CREATE TABLE partial_metrics (device INTEGER NOT NULL, metric TEXT NOT NULL);
CREATE TABLE energy_windows (
  device INTEGER NOT NULL, name TEXT NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
  energy_j REAL NOT NULL);
CREATE TABLE training_logs (
  log INTEGER PRIMARY KEY, file TEXT NOT NULL, job TEXT NOT NULL, benchmark TEXT NOT NULL,
  platform TEXT NOT NULL, global_batch REAL NOT NULL);
CREATE TABLE training_phases (
  log INTEGER NOT NULL, name TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL);
CREATE TABLE training_rates (log INTEGER NOT NULL, samples_per_s REAL NOT NULL);
CREATE TABLE training_steps (
  log INTEGER NOT NULL, step INTEGER NOT NULL, seconds REAL NOT NULL, end_ns INTEGER NOT NULL,
  tokens_per_s_per_gpu REAL NOT NULL);
CREATE TABLE power_limits (
  job TEXT NOT NULL, limit_w REAL NOT NULL, time_s REAL NOT NULL, mean_w REAL NOT NULL, energy_j REAL NOT NULL);
CREATE TABLE gauges (name TEXT NOT NULL, labels TEXT NOT NULL, rank INTEGER, value REAL NOT NULL);
CREATE TABLE collective_logs (
  log INTEGER PRIMARY KEY, source TEXT NOT NULL, communicator TEXT NOT NULL, host TEXT NOT NULL,
  file TEXT NOT NULL, rank INTEGER, ranks INTEGER NOT NULL, nodes INTEGER NOT NULL);
CREATE TABLE collective_timings (
  log INTEGER NOT NULL, kind TEXT NOT NULL, sequence INTEGER, bytes REAL NOT NULL, seconds REAL NOT NULL,
  algorithm_gb_per_s REAL NOT NULL, bus_gb_per_s REAL NOT NULL);
CREATE TABLE log_dropped (file TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL);
CREATE TABLE notes (time_ns INTEGER, text TEXT NOT NULL);
CREATE TABLE clock_readings (
  host TEXT NOT NULL, time_ns INTEGER NOT NULL, monotonic_ns INTEGER NOT NULL, max_error_ns INTEGER NOT NULL);
CREATE TABLE clock_probes (
  host TEXT NOT NULL, peer TEXT NOT NULL, sent_ns INTEGER NOT NULL, peer_received_ns INTEGER NOT NULL,
  peer_sent_ns INTEGER NOT NULL, received_ns INTEGER NOT NULL);
)sql";

constexpr int kDeviceKinds = static_cast<int>(DeviceKind::kPort) + 1;

/// The device's readings by time: those of one time share a row, as far as each is another metric.
std::vector<ReadingCell> cells_of(size_t number, const Device& device) {
  std::vector<ReadingCell> cells;
  for (const Series& series : device.series)
    for (const Sample& sample : series.samples)
      cells.push_back({sample.time_ns, number, series.metric, sample.value});
  std::ranges::stable_sort(cells, {}, &ReadingCell::time_ns);
  return cells;
}

void insert_devices(Database& db, const std::vector<Device>& devices) {
  Statement partial(db, "INSERT INTO partial_metrics VALUES (?, ?)");
  Statement window(db, "INSERT INTO energy_windows VALUES (?, ?, ?, ?, ?)");
  for (size_t number = 0; number < devices.size(); ++number) {
    const Device& device = devices[number];
    const auto key = static_cast<int64_t>(number);
    insert_device(db, number, device);
    for (const Series& series : device.series)
      if (series.partial) partial.run(key, std::string_view(metric_info(series.metric).name));
    for (const EnergyWindow& w : device.windows)
      window.run(key, w.name, w.start_ns, w.duration_ns, w.energy_j);
    insert_readings(db, cells_of(number, device));
  }
}

void insert_training(Database& db, const std::vector<TrainingLog>& logs) {
  Statement log(db, "INSERT INTO training_logs VALUES (?, ?, ?, ?, ?, ?)");
  Statement phase(db, "INSERT INTO training_phases VALUES (?, ?, ?, ?)");
  Statement rate(db, "INSERT INTO training_rates VALUES (?, ?)");
  int64_t number = 0;
  for (const TrainingLog& t : logs) {
    log.run(number, t.file, t.job, t.benchmark, t.platform, t.global_batch);
    for (const Phase& p : t.phases) phase.run(number, p.name, p.start_ns, p.end_ns);
    for (const double samples_per_s : t.samples_per_s) rate.run(number, samples_per_s);
    insert_steps(db, number, t.steps);
    ++number;
  }
}

void insert_collectives(Database& db, const std::vector<CollectiveLog>& logs) {
  Statement insert(db, "INSERT INTO collective_logs VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  Statement timing(db, "INSERT INTO collective_timings VALUES (?, ?, ?, ?, ?, ?, ?)");
  int64_t number = 0;
  for (const CollectiveLog& log : logs) {
    insert.run(number, log.source, log.communicator, log.host, log.file, known(log.rank), log.ranks,
               log.nodes);
    for (const CollectiveTiming& t : log.timings)
      timing.run(number, t.kind, known(t.sequence), t.bytes, t.seconds, t.algorithm_gb_per_s,
                 t.bus_gb_per_s);
    ++number;
  }
}

constexpr RowTable kPowerLimitTable("power_limits", "rowid", kPowerLimitColumns);
constexpr RowTable kDroppedTable("log_dropped", "rowid", kDroppedColumns);

void insert_rest(Database& db, const DeviceLog& log) {
  kPowerLimitTable.insert(db, log.power_limits);
  Statement gauge(db, "INSERT INTO gauges VALUES (?, ?, ?, ?)");
  for (const Gauge& g : log.gauges) gauge.run(g.name, g.labels, known(g.rank), g.value);
  kDroppedTable.insert(db, log.dropped);
  Statement note(db, "INSERT INTO notes VALUES (?, ?)");
  for (const std::string& text : log.notes) note.run(Nullable{}, text);
}

void insert_clocks(Database& db, const std::vector<HostClock>& clocks) {
  Statement reading(db, "INSERT INTO clock_readings VALUES (?, ?, ?, ?)");
  Statement probe(db, "INSERT INTO clock_probes VALUES (?, ?, ?, ?, ?, ?)");
  for (const HostClock& clock : clocks) {
    for (const ClockReading& r : clock.readings)
      reading.run(clock.host, r.time_ns, r.monotonic_ns, r.max_error_ns);
    for (const ClockProbe& p : clock.probes)
      probe.run(clock.host, p.peer, p.sent_ns, p.peer_received_ns, p.peer_sent_ns, p.received_ns);
  }
}

bool select_partial(Database& db, std::vector<Device>& devices) {
  Statement select(db, "SELECT device, metric FROM partial_metrics ORDER BY rowid");
  while (select.step()) {
    Device* device = owner_of(select, devices);
    if (device == nullptr) return false;
    for (Series& series : device->series)
      if (select.text(1) == metric_info(series.metric).name) series.partial = true;
  }
  return true;
}

bool select_windows(Database& db, std::vector<Device>& devices) {
  Statement select(
      db,
      "SELECT device, name, start_ns, duration_ns, energy_j FROM energy_windows ORDER BY rowid");
  while (select.step()) {
    Device* device = owner_of(select, devices);
    if (device == nullptr) return false;
    device->windows.push_back(
        {select.text(1), select.integer(2), select.integer(3), select.real(4)});
  }
  return true;
}

void select_training(Database& db, std::vector<TrainingLog>& logs) {
  Statement select(
      db,
      "SELECT log, file, job, benchmark, platform, global_batch FROM training_logs ORDER BY log");
  Statement phases(
      db, "SELECT name, start_ns, end_ns FROM training_phases WHERE log = ? ORDER BY rowid");
  Statement rates(db, "SELECT samples_per_s FROM training_rates WHERE log = ? ORDER BY rowid");
  while (select.step()) {
    TrainingLog log{
        select.text(1), select.text(2), select.text(3), select.text(4), select.real(5), {}, {}, {}};
    phases.bind_all(select.integer(0));
    while (phases.step())
      log.phases.push_back({phases.text(0), phases.integer(1), phases.integer(2)});
    rates.bind_all(select.integer(0));
    while (rates.step()) log.samples_per_s.push_back(rates.real(0));
    logs.push_back(std::move(log));
  }
}

/// What readers of logs take for a step.
bool is_step(const TrainingStep& step) {
  constexpr double kMostSeconds = 1e6;
  constexpr int64_t kFarOff_ns = INT64_MAX / 2;
  return step.number >= 0 && step.seconds > 0 && step.seconds <= kMostSeconds &&
         step.tokens_per_s_per_gpu >= 0 && step.end_ns > -kFarOff_ns;
}

/// Files of versions that read no steps have no such table, or lack its last columns.
bool select_steps(Database& db, std::vector<TrainingLog>& logs) {
  const std::vector<std::string> columns = db.columns("training_steps");
  if (columns.empty()) return true;
  std::string sql = "SELECT log, step, seconds";
  for (const char* later : {"end_ns", "tokens_per_s_per_gpu"})
    sql += !base::contains(columns, later) ? ", 0" : std::string(", ") + later;
  Statement select(db, (sql + " FROM training_steps ORDER BY rowid").c_str());
  while (select.step()) {
    TrainingLog* log = owner_of(select, logs);
    const TrainingStep step{select.integer(1), select.real(2), select.integer(3), select.real(4)};
    if (log == nullptr || !is_step(step)) return false;
    log->steps.push_back(step);
  }
  return true;
}

void select_rest(Database& db, DeviceLog& log) {
  kPowerLimitTable.select(db, log.power_limits);
  Statement gauges(db, "SELECT name, labels, rank, value FROM gauges ORDER BY rowid");
  while (gauges.step())
    log.gauges.push_back({gauges.text(0), gauges.text(1), known(gauges, 2), gauges.real(3)});
  kDroppedTable.select(db, log.dropped);
  Statement notes(db, "SELECT text FROM notes ORDER BY rowid");
  while (notes.step()) log.notes.push_back(notes.text(0));
}

/// False when a timing belongs to no log. Older files do not have the tables.
bool select_collectives(Database& db, std::vector<CollectiveLog>& logs) {
  if (!db.has_table("collective_logs")) return true;
  Statement select(db,
                   "SELECT source, communicator, host, file, rank, ranks, nodes "
                   "FROM collective_logs ORDER BY log");
  while (select.step())
    logs.push_back({select.text(0),
                    select.text(1),
                    select.text(2),
                    select.text(3),
                    known(select, 4),
                    select.integer(5),
                    select.integer(6),
                    {}});
  Statement timings(db,
                    "SELECT log, kind, sequence, bytes, seconds, algorithm_gb_per_s, bus_gb_per_s "
                    "FROM collective_timings ORDER BY rowid");
  while (timings.step()) {
    CollectiveLog* log = owner_of(timings, logs);
    if (log == nullptr) return false;
    log->timings.push_back({timings.text(1), known(timings, 2), timings.real(3), timings.real(4),
                            timings.real(5), timings.real(6)});
  }
  return true;
}

HostClock& clock_of(std::vector<HostClock>& clocks, const std::string& host) {
  for (HostClock& clock : clocks)
    if (clock.host == host) return clock;
  clocks.push_back({host, {}, {}});
  return clocks.back();
}

}  // namespace

void create_log_tables(Database& db) {
  db.execute(kLogSchema);
  create_readings(db);
}

void insert_device(Database& db, size_t number, const Device& device) {
  Statement insert(db, "INSERT INTO devices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.run(static_cast<int64_t>(number), std::string_view(kind_name(device.kind)),
             known(device.rank), known(device.index), device.host, device.uuid, device.name,
             device.file, device.job, device.conversion_efficiency, device.stated_power_w,
             device.pci_bus_id);
}

bool select_devices(Database& db, std::vector<Device>& devices) {
  Statement select(
      db,
      "SELECT device, kind, rank, device_index, host, uuid, name, file, job, "
      "conversion_efficiency, stated_power_w, pci_bus_id FROM devices ORDER BY device");
  while (select.step()) {
    if (select.integer(0) != static_cast<int64_t>(devices.size())) return false;
    int kind = 0;
    while (kind < kDeviceKinds && select.text(1) != kind_name(static_cast<DeviceKind>(kind)))
      ++kind;
    if (kind == kDeviceKinds || !(select.real(9) > 0)) return false;
    Device device;
    device.kind = static_cast<DeviceKind>(kind);
    device.rank = known(select, 2);
    device.index = known(select, 3);
    device.host = select.text(4);
    device.uuid = select.text(5);
    device.name = select.text(6);
    device.file = select.text(7);
    device.job = select.text(8);
    device.conversion_efficiency = select.real(9);
    device.stated_power_w = select.real(10);
    device.pci_bus_id = select.text(11);
    devices.push_back(std::move(device));
  }
  return true;
}

void insert_log(Database& db, const Run& run) {
  insert_devices(db, run.log.devices);
  insert_training(db, run.log.training);
  insert_collectives(db, run.log.collectives);
  insert_rest(db, run.log);
  insert_clocks(db, run.clocks);
}

void insert_steps(Database& db, int64_t log, std::span<const TrainingStep> steps) {
  Statement step(db, "INSERT INTO training_steps VALUES (?, ?, ?, ?, ?)");
  for (const TrainingStep& s : steps)
    step.run(log, s.number, s.seconds, s.end_ns, s.tokens_per_s_per_gpu);
}

void insert_training_log(Database& db, int64_t number, const std::string& file,
                         const std::string& job) {
  Statement(db, "INSERT OR IGNORE INTO training_logs VALUES (?, ?, ?, '', '', 0)")
      .run(number, file, job);
}

bool select_log(Database& db, DeviceLog& log) {
  if (!db.has_table("readings")) return true;
  if (!select_devices(db, log.devices) || !select_readings(db, log.devices) ||
      !select_partial(db, log.devices) || !select_windows(db, log.devices))
    return false;
  select_training(db, log.training);
  select_rest(db, log);
  return select_steps(db, log.training) && select_collectives(db, log.collectives);
}

void select_clocks(Database& db, std::vector<HostClock>& clocks) {
  if (!db.has_table("clock_readings")) return;
  Statement readings(db,
                     "SELECT host, time_ns, monotonic_ns, max_error_ns FROM clock_readings "
                     "ORDER BY rowid");
  while (readings.step())
    clock_of(clocks, readings.text(0))
        .readings.push_back({readings.integer(1), readings.integer(2), readings.integer(3)});
  Statement probes(db,
                   "SELECT host, peer, sent_ns, peer_received_ns, peer_sent_ns, received_ns FROM "
                   "clock_probes ORDER BY rowid");
  while (probes.step())
    clock_of(clocks, probes.text(0))
        .probes.push_back({probes.text(1), probes.integer(2), probes.integer(3), probes.integer(4),
                           probes.integer(5)});
}

}  // namespace ergometer::run
