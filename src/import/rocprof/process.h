#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/rocprof/record.h"
#include "import/trace/trace_builder.h"

namespace ergometer::importer {

/// What a result tells of one process. Names may come behind the records that refer to them, so
/// traces are put together at the end.
class RocprofProcess {
 public:
  struct Agent {
    bool gpu = false;
    int32_t index = -1;  ///< among GPUs
    std::string name;
  };
  int64_t pid = -1;
  std::map<int64_t, Agent> agents;                   ///< by handle
  std::map<int64_t, std::string> kernels;            ///< by id
  std::map<int64_t, std::string> messages;           ///< of roctx, by correlation
  std::vector<std::vector<std::string>> operations;  ///< by kind and number

  /// Takes a record of the list `section` ("kernel_dispatch", "hip_api", ...).
  void add(std::string_view section, const RocprofRecord& record, DropCounts& dropped);
  /// The traces of its GPUs, by agent.
  std::vector<run::RankTrace> finish(DropCounts& dropped);

 private:
  struct Work {
    Span span;
    int64_t correlation = -1, what = -1;  ///< a kernel's id, a copy's operation
    int64_t agent = -1, other_agent = -1;
    int32_t stream = -1;
    int32_t kind = -1;  ///< of a copy's operation; -1: a kernel
  };
  struct Call {
    Span span;
    int64_t correlation = -1, thread = -1;
    int32_t kind = -1, operation = -1;
  };

  std::string operation_name(int64_t kind, int64_t operation) const;
  int64_t gpu_of(const Work& work) const;
  std::map<int64_t, TraceBuilder> place_work();
  void add_launches(TraceBuilder& gpu) const;
  void add_ranges(std::map<int64_t, TraceBuilder>& gpus, DropCounts& dropped) const;

  std::vector<Work> work_;
  std::vector<Call> launches_, collectives_, markers_;
};

}  // namespace ergometer::importer
