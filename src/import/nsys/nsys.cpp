#include "import/nsys/nsys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "import/nsys/export.h"
#include "import/nsys/table.h"
#include "import/text/rank_name.h"

namespace ergometer::importer {
namespace {

constexpr std::array kTables = std::to_array<const char*>(
    {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
     "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
     "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS",
     "GPU_METRICS", "StringIds", "TARGET_INFO_SESSION_START_TIME", "META_DATA_EXPORT",
     "EXPORT_META_DATA"});

/// The devices' names, by process and CUDA's number; process 0 stands for any.
Result<void> read_gpu_names(NsysExport& from) {
  std::map<int64_t, std::string> names;
  NsysTable gpus(from.db, from.file, "TARGET_INFO_GPU", {{"id", true}, {"name"}});
  while (gpus.next()) names[gpus.integer(0).value_or(-1)] = gpus.text(1).value_or("");
  ERGOMETER_TRY(gpus.finish());
  std::map<std::pair<int64_t, int64_t>, int64_t> number;  // of a process's device
  NsysTable devices(from.db, from.file, "TARGET_INFO_CUDA_DEVICE",
                    {{"pid"}, {"cudaId"}, {"gpuId"}});
  while (devices.next())
    number[{devices.integer(0).value_or(-1), devices.integer(1).value_or(-1)}] =
        devices.integer(2).value_or(-1);
  ERGOMETER_TRY(devices.finish());
  for (auto& [key, gpu] : from.gpus) {
    const auto known = number.find({nsys_pid(key.first), key.second});
    const auto name = names.find(known != number.end() ? known->second : key.second);
    if (name != names.end()) gpu.trace.gpu = name->second;
  }
  return {};
}

/// Rows of what happened elsewhere than on GPUs.
void count_other_tables(NsysExport& from) {
  std::vector<std::string> others;
  {
    run::Statement names(from.db,
                         "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 "
                         "ORDER BY name");
    while (names.step()) others.push_back(names.text(0));
  }
  for (const std::string& table : others) {
    if (base::contains(kTables, table)) continue;
    const std::vector<std::string> columns = from.db.columns(table);
    const bool events = std::ranges::any_of(columns, [](const std::string& c) {
      return c == "start" || c == "timestamp" || c == "rawTimestamp";
    });
    if (events) from.dropped.add(table + ": not a GPU event", nsys_rows(from.db, table));
  }
}

/// Of a process's GPUs the one with most events has its rank.
void set_ranks(NsysExport& from) {
  for (const auto& [process, rank] : from.rank_of_process) {
    TraceBuilder* busiest = nullptr;
    for (auto& [key, gpu] : from.gpus)
      if (key.first == process &&
          (busiest == nullptr || gpu.trace.events.size() > busiest->trace.events.size()))
        busiest = &gpu;
    if (busiest != nullptr && rank >= 0) busiest->trace.rank = rank;
  }
  if (from.gpus.size() != 1) return;
  run::RankTrace& only = from.gpus.begin()->second.trace;
  if (only.rank < 0) only.rank = rank_in_name(from.file).value_or(-1);
}

std::vector<run::RankTrace> finish(NsysExport& from, int64_t epoch) {
  // An export without GPU events is a trace without events, as it is in other formats.
  if (from.gpus.empty()) from.gpus[{0, 0}].trace.rank = rank_in_name(from.file).value_or(-1);
  std::vector<run::RankTrace> traces;
  for (auto& [key, gpu] : from.gpus) {
    gpu.trace.base_time_ns = epoch;
    gpu.trace.file = from.gpus.size() == 1 ? from.file
                                           : fmt::format("{} (process {}, GPU {})", from.file,
                                                         nsys_pid(key.first), key.second);
    traces.push_back(gpu.finish());
  }
  traces.front().dropped = from.dropped.take(from.file);
  return traces;
}

/// Whether a database has a table that Nsight Systems exports.
bool is_nsys(run::Database& db) {
  return std::ranges::any_of(kTables, [&](const char* table) { return db.has_table(table); });
}

}  // namespace

Result<std::vector<run::RankTrace>> read_nsys(run::Database& db, const std::string& file) {
  const bool known = is_nsys(db);
  if (!db.ok()) return db.failure(file + ": is an SQLite file that cannot be read");
  if (!known)
    return input_error(
        "{}: is an SQLite file, but neither a Run nor an export of Nsight Systems: it has none of "
        "the tables CUPTI_ACTIVITY_KIND_KERNEL, NVTX_EVENTS, StringIds, ...",
        file);
  ERGOMETER_TRY(NsysTable(db, file, "StringIds", {{"id", true}, {"value", true}}).finish());
  NsysExport from(db, file);
  ERGOMETER_TRY(read_nsys_gpu_work(from));
  ERGOMETER_TRY(read_nsys_launches(from));
  ERGOMETER_TRY(read_nsys_ranges(from));
  ERGOMETER_TRY(read_gpu_names(from));
  ERGOMETER_ASSIGN(const int64_t epoch, nsys_epoch(db, file));
  set_ranks(from);
  count_other_tables(from);
  if (!db.ok()) return db.failure(file + ": cannot be read");
  return finish(from, epoch);
}

}  // namespace ergometer::importer
