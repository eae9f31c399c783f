#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace ergometer::importer {

/// One record of rocprofv3's lists, flat; nothing where a value is not there or no whole number.
struct RocprofRecord {
  using Number = std::optional<int64_t>;
  Number kind, operation, thread, correlation, start_ns, end_ns;
  Number agent, queue, stream, kernel;  ///< of a dispatch
  Number source_agent, target_agent;    ///< of a copy
};

class RocprofRecords {
 public:
  RocprofRecords();
  ~RocprofRecords();

  /// Reads one object; nothing where it is none that simdjson takes. `readable` bytes may be read
  /// from its start on, at least 64 more than it has.
  std::optional<RocprofRecord> read(std::string_view object, size_t readable);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace ergometer::importer
