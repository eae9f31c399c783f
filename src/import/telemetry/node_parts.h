#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace ergometer::importer {

class LogBuilder;

/// Readings of a node that stand in several files and mean something together alone: the time in
/// which its processors idled, one by one, and its memory's total and free part.
class NodeParts {
 public:
  enum class Part : uint8_t { kIdleSeconds, kWaitSeconds, kMemoryTotal, kMemoryFree };
  void add(size_t device, Part part, int64_t time_ns, double value);
  /// Adds what they make: the share of time in which processors did not idle, between the times at
  /// which all were read; the memory in use.
  void finish(LogBuilder& log) const;

 private:
  struct Parts {
    double idle_s = 0, total_b = -1, free_b = -1;
    int64_t processors = 0;
  };
  using Times = std::map<int64_t, Parts>;
  static void add_utilization(size_t device, const Times& times, LogBuilder& log);

  std::map<size_t, Times> devices_;
};

}  // namespace ergometer::importer
