// An export of Nsight Systems: refused with a message, or traces that add up. Most inputs choose
// tables, columns and values, some are a file's bytes.
#include <fmt/format.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/telemetry/telemetry.h"
#include "check_trace.h"
#include "import/nsys/nsys.h"

namespace {

using namespace ergometer;
using run::Database;

struct Table {
  const char* name;
  std::vector<const char*> columns;
};
const std::vector<Table>& tables() {
  static const std::vector<const char*> work = {
      "start",         "end",       "deviceId", "streamId", "correlationId", "globalPid",
      "demangledName", "shortName", "copyKind", "srcKind",  "memKind",       "graphId"};
  static const std::vector<Table> all = {
      {"StringIds", {"id", "value"}},
      {"CUPTI_ACTIVITY_KIND_KERNEL", work},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", work},
      {"CUPTI_ACTIVITY_KIND_MEMSET", work},
      {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", work},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "correlationId", "globalTid"}},
      {"NVTX_EVENTS",
       {"start", "end", "eventType", "text", "textId", "domainId", "globalTid", "jsonText",
        "jsonTextId"}},
      {"MPI_RANKS", {"globalPid", "rank"}},
      {"MPI_P2P_EVENTS", {"start", "end", "globalTid", "textId"}},
      {"TARGET_INFO_GPU", {"id", "name"}},
      {"TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"}},
      {"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}},
      {"TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"}},
      {"GPU_METRICS", {"timestamp", "rawTimestamp", "typeId", "metricId", "value"}},
      {"OSRT_API", {"start", "end"}},
  };
  return all;
}

std::string value(FuzzedDataProvider& input) {
  constexpr std::array kTexts = {"NCCL",
                                 "ncclAllReduce",
                                 "ncclGroupStart",
                                 "ncclGroupEnd",
                                 "ncclSend",
                                 "ncclDevKernel_AllReduce",
                                 "gemm",
                                 "iteration 1",
                                 "step 2",
                                 "MPI Rank 3",
                                 "GPC Clock Frequency [MHz]",
                                 "{\"Message size [bytes]\": 5, \"No. of ranks\": 2}"};
  switch (input.ConsumeIntegralInRange(0, 9)) {
    case 0: return "NULL";
    case 1: return fmt::format("{}", input.ConsumeIntegral<int64_t>());
    case 2: return fmt::format("{}.5", input.ConsumeIntegral<int16_t>());
    case 3: return fmt::format("'{}'", input.PickValueInArray(kTexts));
    case 4: return "x'00ff41'";
    case 5: return fmt::format("{}", 16777216 + input.ConsumeIntegralInRange(0, 3));
    case 6: return fmt::format("{}", input.PickValueInArray({59, 60, 75, 34}));
    default: return fmt::format("{}", input.ConsumeIntegralInRange(0, 20));
  }
}

std::string script(FuzzedDataProvider& input) {
  std::string sql;
  for (const Table& table : tables()) {
    if (input.ConsumeIntegralInRange(0, 7) == 0) continue;
    std::string columns;
    size_t count = 0;
    for (const char* column : table.columns) {
      if (input.ConsumeIntegralInRange(0, 15) == 0) continue;
      columns += fmt::format("{}\"{}\"", count++ > 0 ? ", " : "", column);
    }
    if (count == 0) continue;
    sql += fmt::format("CREATE TABLE {} ({});", table.name, columns);
    for (int rows = input.ConsumeIntegralInRange(0, 6); rows > 0; --rows) {
      sql += fmt::format("INSERT INTO {} VALUES (", table.name);
      for (size_t i = 0; i < count; ++i) sql += (i > 0 ? ", " : "") + value(input);
      sql += ");";
    }
  }
  return sql;
}

void read(Database& db) {
  const auto traces = importer::read_nsys(db, "job.sqlite");
  if (traces) check(*traces);
  if (!traces && traces.error().message.empty()) std::abort();
  if (!db.ok()) return;
  importer::LogBuilder log;
  log.begin_file("job.sqlite");
  if (!importer::read_nsys_metrics(db, log)) return;
  for (const auto& device : analysis::analyze_telemetry(log.finish()).devices)
    if (!std::isfinite(device.mean_w + (device.sm_clock_mhz ? device.sm_clock_mhz->mean : 0)))
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kHeader = "SQLite format 3";
  if (std::string_view(reinterpret_cast<const char*>(data), size).starts_with(kHeader)) {
    const std::string path = fmt::format("/dev/shm/fuzz-nsys-{}", getpid());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    Database db(path, Database::Access::kRead);
    read(db);
    ::unlink(path.c_str());
    return 0;
  }
  FuzzedDataProvider input(data, size);
  Database db(":memory:", Database::Access::kCreate);
  db.execute(script(input).c_str());
  if (!db.ok()) std::abort();
  read(db);
  return 0;
}
