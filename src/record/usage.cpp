#include "record/usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "record/clock.h"

namespace ergometer::record {

int64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
int64_t process_cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

int64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long long pages = 0;
  const int found = std::fscanf(file, "%*s %lld", &pages);
  std::fclose(file);
  return found == 1 ? pages * sysconf(_SC_PAGESIZE) : 0;
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace ergometer::record
