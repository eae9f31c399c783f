#pragma once

#include <cstdint>

namespace ergometer::record {

/// Processor time of the calling thread.
int64_t thread_cpu_ns();
/// Processor time of this process, all threads, without its children.
int64_t process_cpu_ns();
/// Memory of this process that is in RAM now, and the most that was since it started.
int64_t resident_bytes();
int64_t peak_resident_bytes();

}  // namespace ergometer::record
