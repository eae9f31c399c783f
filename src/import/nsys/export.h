#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "import/trace/trace_builder.h"
#include "run/file/sqlite.h"

namespace ergometer::importer {

/// Texts that tables refer to by number (StringIds).
class NsysStrings {
 public:
  explicit NsysStrings(run::Database& db);
  /// What stands for a missing one says so.
  const std::string& text(int64_t id);

 private:
  std::optional<run::Statement> query_;
  std::map<int64_t, std::string> known_;
};

/// An export in the reading: its GPUs, by process (its globalPid) and CUDA's number.
struct NsysExport {
  NsysExport(run::Database& database, const std::string& name) : db(database), file(name) {}

  run::Database& db;
  const std::string& file;
  NsysStrings strings{db};
  std::map<std::pair<int64_t, int64_t>, TraceBuilder> gpus;
  std::map<int64_t, int64_t> rank_of_process;
  DropCounts dropped;
};

/// A serialised thread's process and number: the lowest 24 bits are the thread, the next the
/// process.
inline int64_t nsys_process(int64_t global_thread) { return global_thread & ~int64_t{0xffffff}; }
inline int64_t nsys_thread(int64_t global_thread) { return global_thread & 0xffffff; }
inline int64_t nsys_pid(int64_t global) { return global >> 24 & 0xffffff; }

/// Kernels, copies, sets and graphs, and then the calls that launched them.
Result<void> read_nsys_gpu_work(NsysExport& from);
Result<void> read_nsys_launches(NsysExport& from);
/// NVTX's and MPI's ranges, NCCL's calls among them, and ranks.
Result<void> read_nsys_ranges(NsysExport& from);

}  // namespace ergometer::importer
