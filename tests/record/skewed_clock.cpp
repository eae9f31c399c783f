// A clock that is wrong, for a program that is started with this library in LD_PRELOAD: what it reads
// as the time of day is ahead by SKEW_NS and gains SKEW_PPM from its first look on. The monotonic
// clock stays right, so that a test can tell how wrong the other is.
#include <dlfcn.h>
#include <sys/time.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kSecond = 1'000'000'000;
using ClockGetTime = int (*)(clockid_t, timespec*);

ClockGetTime real_clock() {
  static const auto real = reinterpret_cast<ClockGetTime>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real;
}

int64_t number_from(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
}

int64_t skewed(int64_t true_ns) {
  static const int64_t first_ns = true_ns;
  static const int64_t skew_ns = number_from("SKEW_NS");
  static const auto ppm = static_cast<double>(number_from("SKEW_PPM"));
  return true_ns + skew_ns + std::llround(static_cast<double>(true_ns - first_ns) * ppm * 1e-6);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  const int status = real_clock()(clock, time);
  if (status != 0 || clock != CLOCK_REALTIME) return status;
  const int64_t shown = skewed(time->tv_sec * kSecond + time->tv_nsec);
  *time = {.tv_sec = shown / kSecond, .tv_nsec = shown % kSecond};
  return 0;
}

extern "C" int gettimeofday(timeval* time, void*) {
  timespec now{};
  const int status = clock_gettime(CLOCK_REALTIME, &now);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return status;
}

extern "C" time_t time(time_t* out) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}
