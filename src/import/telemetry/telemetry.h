#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/telemetry/options.h"
#include "run/device_log.h"

namespace ergometer::importer {

/// Telemetry, and the paths that hold, or may hold, something else.
struct Telemetry {
  run::DeviceLog log;
  bool any = false;  ///< at least one file was telemetry
  std::vector<std::string> rest;
  /// All of `rest` held telemetry too: it need not hold a trace.
  bool rest_may_be_empty = true;
  std::vector<std::string> files;  ///< those that were read
  /// What names tell of the job, in the contract's form; empty where they do not.
  std::string job_json;
};

/// Reads the series of power, temperature, clocks and counters among `paths`: files, packed by
/// gzip, zstd or not at all, tar archives and folders. What a file is, its content says:
///  - nvidia-smi's CSV and tables like it; what nvidia-smi dmon and dcgmi dmon print; Zeus's
///  monitor, windows and power-limit tables;
///  - MLPerf's power logs and training logs; what Megatron-LM, NeMo and torchtitan print of steps;
///  - DCGM's, omnistat's and XPUTimer's metrics as Prometheus' text or as its answer to a query;
///  - what NCCL's inspector plugin and nccl-tests tell of collectives;
///  - CharLLM-PPT's `unix_seconds,value`, whose metric and rank stand in the name alone.
///
/// Times are whole nanoseconds since 1970; a time without zone counts as UTC. Input errors: a file
/// of one of these kinds that is broken (file, line, column, found, allowed); a path that cannot be
/// read. A file of no such kind stays in `rest`, a folder does while it holds JSON.
base::Result<Telemetry> read_telemetry(const std::vector<std::string>& paths,
                                       const TelemetryOptions& options);

/// The same for one text: what the fuzzer calls.
base::Result<run::DeviceLog> parse_telemetry(std::string_view text, const std::string& file,
                                             const TelemetryOptions& options);

/// What a training program printed, for who knows that it is that: other lines, whatever they look
/// like, are passed over. An input error: a file that cannot be read.
base::Result<run::DeviceLog> read_training_log(const std::string& path);

}  // namespace ergometer::importer
