#pragma once

#include <cstdint>
#include <string>

#include "run/file/row_table.h"
#include "run/file/sqlite.h"
#include "run/run.h"

namespace ergometer::run {

// The tables of a device log and of hosts' clocks in a Run file; docs/run-file.md describes them.

constexpr RowTable kTrainingStepTable("training_steps", "log", &TrainingStep::number,
                                      &TrainingStep::seconds, Later(&TrainingStep::end_ns),
                                      Later(&TrainingStep::tokens_per_s_per_gpu));
constexpr RowTable kClockReadingTable("clock_readings", "host", &ClockReading::time_ns,
                                      &ClockReading::monotonic_ns, &ClockReading::max_error_ns);
constexpr RowTable kClockProbeTable("clock_probes", "host", &ClockProbe::peer, &ClockProbe::sent_ns,
                                    &ClockProbe::peer_received_ns, &ClockProbe::peer_sent_ns,
                                    &ClockProbe::received_ns);

/// Makes the tables, of a Run that was recorded or imported.
void create_log_tables(Database& db);
void insert_log(Database& db, const Run& run);
/// One row of `devices`; `number` is what its readings name it by.
void insert_device(Database& db, size_t number, const Device& device);
/// All of them, without readings. False where the file does not number them from 0 on, or a kind is
/// unknown.
bool select_devices(Database& db, std::vector<Device>& devices);

/// Names a training log, unless the number has one.
void insert_training_log(Database& db, int64_t number, const std::string& file,
                         const std::string& job);

/// Read what there is, for a file may hold no log. False when rows refer to what is not there or
/// hold what no sensor reads.
bool select_log(Database& db, DeviceLog& log);
void select_clocks(Database& db, std::vector<HostClock>& clocks);

}  // namespace ergometer::run
