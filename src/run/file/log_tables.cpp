#include "run/file/log_tables.h"

#include <algorithm>
#include <span>
#include <string>

#include "run/file/reading_rows.h"
#include "run/file/row_table.h"

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

constexpr RowTable kDeviceTable("devices", "device",
                                Word(&Device::kind, kind_name, DeviceKind::kPort),
                                OrNull(&Device::rank), OrNull(&Device::index), &Device::host,
                                &Device::uuid, &Device::name, &Device::file, &Device::job,
                                &Device::conversion_efficiency, &Device::stated_power_w,
                                &Device::pci_bus_id);
constexpr RowTable kEnergyWindowTable("energy_windows", "device", &EnergyWindow::name,
                                      &EnergyWindow::start_ns, &EnergyWindow::duration_ns,
                                      &EnergyWindow::energy_j);
constexpr RowTable kTrainingTable("training_logs", "log", &TrainingLog::file, &TrainingLog::job,
                                  &TrainingLog::benchmark, &TrainingLog::platform,
                                  &TrainingLog::global_batch);
constexpr RowTable kTrainingPhaseTable("training_phases", "log", &Phase::name, &Phase::start_ns,
                                       &Phase::end_ns);
constexpr RowTable kRateTable("training_rates", "log", Whole<double>());
constexpr RowTable kPowerLimitTable("power_limits", "", kPowerLimitColumns);
constexpr RowTable kGaugeTable("gauges", "", &Gauge::name, &Gauge::labels, OrNull(&Gauge::rank),
                               &Gauge::value);
constexpr RowTable kCollectiveLogTable("collective_logs", "log", &CollectiveLog::source,
                                       &CollectiveLog::communicator, &CollectiveLog::host,
                                       &CollectiveLog::file, OrNull(&CollectiveLog::rank),
                                       &CollectiveLog::ranks, &CollectiveLog::nodes);
constexpr RowTable kTimingTable("collective_timings", "log", &CollectiveTiming::kind,
                                OrNull(&CollectiveTiming::sequence), &CollectiveTiming::bytes,
                                &CollectiveTiming::seconds, &CollectiveTiming::algorithm_gb_per_s,
                                &CollectiveTiming::bus_gb_per_s);
constexpr RowTable kDroppedTable("log_dropped", "", kDroppedColumns);

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
  kEnergyWindowTable.insert_each(db, devices, &Device::windows);
  for (size_t number = 0; number < devices.size(); ++number) {
    const Device& device = devices[number];
    insert_device(db, number, device);
    for (const Series& series : device.series)
      if (series.partial)
        partial.run(static_cast<int64_t>(number),
                    std::string_view(metric_info(series.metric).name));
    insert_readings(db, cells_of(number, device));
  }
}

void insert_rest(Database& db, const DeviceLog& log) {
  kPowerLimitTable.insert(db, log.power_limits);
  kGaugeTable.insert(db, log.gauges);
  kDroppedTable.insert(db, log.dropped);
  Statement note(db, "INSERT INTO notes VALUES (?, ?)");
  for (const std::string& text : log.notes) note.run(Nullable{}, text);
}

void insert_clocks(Database& db, const std::vector<HostClock>& clocks) {
  for (const HostClock& clock : clocks) {
    kClockReadingTable.insert(db, clock.readings, clock.host);
    kClockProbeTable.insert(db, clock.probes, clock.host);
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

void select_training(Database& db, std::vector<TrainingLog>& logs) {
  kTrainingTable.select(db, logs);
  for (size_t i = 0; i < logs.size(); ++i) {
    const auto number = static_cast<int64_t>(i);
    kTrainingPhaseTable.select_of(db, number, logs[i].phases);
    kRateTable.select_of(db, number, logs[i].samples_per_s);
  }
}

/// What readers of logs take for a step.
bool is_step(const TrainingStep& step) {
  constexpr double kLongestStep = 1e6;
  constexpr int64_t kFarOff_ns = INT64_MAX / 2;
  return step.number >= 0 && step.seconds > 0 && step.seconds <= kLongestStep &&
         step.tokens_per_s_per_gpu >= 0 && step.end_ns > -kFarOff_ns;
}

/// Files of versions that read no steps have no such table.
bool select_steps(Database& db, std::vector<TrainingLog>& logs) {
  return !db.has_table("training_steps") ||
         (kTrainingStepTable.select_each(db, logs, &TrainingLog::steps) &&
          std::ranges::all_of(logs, [](const TrainingLog& log) {
            return std::ranges::all_of(log.steps, is_step);
          }));
}

void select_rest(Database& db, DeviceLog& log) {
  kPowerLimitTable.select(db, log.power_limits);
  kGaugeTable.select(db, log.gauges);
  kDroppedTable.select(db, log.dropped);
  Statement notes(db, "SELECT text FROM notes ORDER BY rowid");
  while (notes.step()) log.notes.push_back(notes.text(0));
}

/// False when a timing belongs to no log. Older files do not have the tables.
bool select_collectives(Database& db, std::vector<CollectiveLog>& logs) {
  return !db.has_table("collective_logs") ||
         (kCollectiveLogTable.select(db, logs) &&
          kTimingTable.select_each(db, logs, &CollectiveLog::timings));
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
  kDeviceTable.insert(db, std::span(&device, 1), static_cast<int64_t>(number));
}

bool select_devices(Database& db, std::vector<Device>& devices) {
  Statement select(db, "SELECT * FROM devices ORDER BY device");
  select.need(kDeviceTable.needed());
  while (select.step()) {
    if (select.integer(0) != std::ssize(devices)) return false;
    Device& device = devices.emplace_back();
    if (!kDeviceTable.take(select, device) || !(device.conversion_efficiency > 0)) return false;
  }
  return true;
}

void insert_log(Database& db, const Run& run) {
  insert_devices(db, run.log.devices);
  kTrainingTable.insert(db, run.log.training);
  kTrainingPhaseTable.insert_each(db, run.log.training, &TrainingLog::phases);
  kRateTable.insert_each(db, run.log.training, &TrainingLog::samples_per_s);
  kTrainingStepTable.insert_each(db, run.log.training, &TrainingLog::steps);
  kCollectiveLogTable.insert(db, run.log.collectives);
  kTimingTable.insert_each(db, run.log.collectives, &CollectiveLog::timings);
  insert_rest(db, run.log);
  insert_clocks(db, run.clocks);
}

void insert_training_log(Database& db, int64_t number, const std::string& file,
                         const std::string& job) {
  Statement(db, "INSERT OR IGNORE INTO training_logs VALUES (?, ?, ?, '', '', 0)")
      .run(number, file, job);
}

bool select_log(Database& db, DeviceLog& log) {
  if (!db.has_table("readings")) return true;
  if (!select_devices(db, log.devices) || !select_readings(db, log.devices) ||
      !select_partial(db, log.devices) ||
      !kEnergyWindowTable.select_each(db, log.devices, &Device::windows))
    return false;
  select_training(db, log.training);
  select_rest(db, log);
  return select_steps(db, log.training) && select_collectives(db, log.collectives);
}

void select_clocks(Database& db, std::vector<HostClock>& clocks) {
  if (!db.has_table("clock_readings")) return;
  Statement readings(db, "SELECT * FROM clock_readings ORDER BY rowid");
  readings.need(kClockReadingTable.needed());
  while (readings.step())
    kClockReadingTable.take(readings, clock_of(clocks, readings.text(0)).readings.emplace_back());
  Statement probes(db, "SELECT * FROM clock_probes ORDER BY rowid");
  probes.need(kClockProbeTable.needed());
  while (probes.step())
    kClockProbeTable.take(probes, clock_of(clocks, probes.text(0)).probes.emplace_back());
}

}  // namespace ergometer::run
