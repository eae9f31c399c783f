#include "cli/console/threads.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "cli/console/option_values.h"

namespace ergometer::cli {

Flag threads_flag() {
  return option("threads", "N", "running", "rows at a time; by default one a processor");
}

namespace {

size_t processors() { return std::thread::hardware_concurrency(); }

/// Those that this process may run on: a scheduler often gives it a part of the machine.
size_t processors_allowed() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return static_cast<size_t>(CPU_COUNT(&allowed));
  return processors();  // more than such a set can hold
}

}  // namespace

Result<size_t> thread_count(const Arguments& arguments, size_t processes_here) {
  constexpr int64_t kMost = 1024;
  if (!arguments.has("threads"))  // ranks may be bound to processors of their own or share all
    return std::max<size_t>(1, std::min(processors_allowed(), processors() / processes_here));
  return whole_number(arguments, "threads", 1, 1, kMost);
}

}  // namespace ergometer::cli
